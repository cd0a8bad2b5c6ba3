"""The bundles of a server by name; one can be replaced while questions are being answered."""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import finalize

from starlette.concurrency import run_in_threadpool

from rag.analysis.text_flags import Flagger
from rag.bundle.open_bundle import Bundle, open_bundle
from rag.bundle.replay import replay
from rag.components.queries.none import AsTyped
from rag.config.stand_ins import MARK
from rag.core.errors import UserError, closest
from rag.core.types import Query
from rag.pipeline.shapes.document_records import by_document
from rag.pipeline.shapes.json_shapes import DocumentRecord
from rag.serve.batching import Batcher
from rag.serve.database import MissingError
from rag.serve.interactive import interactive

LOG = logging.getLogger("rag.serve.loaded_bundles")
DEFAULT = "default"
"""A name for the first model."""


class ParityError(UserError):
    """A bundle does not answer as it was measured."""


@dataclass(frozen=True, eq=False)
class Model:
    """An open bundle, since `opened` in seconds since 1970. A request that holds it can finish after it was replaced."""

    bundle: Bundle
    batcher: Batcher
    source: Path
    opened: int = field(default_factory=lambda: int(time.time()))

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every response of this model."""
        return {"X-Assay-Bundle": self.bundle.digest}

    @cached_property
    def rows(self) -> list[int]:
        """The rows of its documents that are not excluded."""
        pipeline = self.bundle.pipeline
        return [row for row, document in enumerate(pipeline.corpus.documents) if document.doc_id not in pipeline.excluded]

    @cached_property
    def flaggers(self) -> tuple[Flagger, Flagger]:
        """Flaggers of the documents and of the chunks, which read all texts when they are made."""
        pipeline = self.bundle.pipeline
        corpus, model = pipeline.corpus, pipeline.embedder if any(pipeline.uses_vectors.values()) else None
        chunks = Flagger.over(map(corpus.text, range(len(corpus))), model)
        return Flagger.over(document.text for document in corpus.documents), chunks

    @cached_property
    def records(self) -> Mapping[str, Sequence[DocumentRecord]]:
        """The records of each document."""
        return by_document(self.bundle.pipeline.records)

    @property
    def name(self) -> str:
        """The name in GET /v1/models."""
        return self.bundle.name

    @property
    def title(self) -> str:
        """A description: the choices of its trial in the sweep, or else its main components."""
        manifest, config = self.bundle.manifest, self.bundle.config
        if manifest.name.removesuffix(MARK) not in ("", "default"):
            return manifest.name
        chunks = "-".join(str(part) for part in (_short_name(config["chunker"]), config["chunker"].get("size")) if part)
        parts = (chunks, "+".join(config["index"]), _short_name(config["reranker"]), _short_name(config["generator"], "model"))
        return " · ".join(part for part in parts if part not in ("", "none")) + (MARK if self.bundle.stand_ins else "")

    @property
    def follows(self) -> bool:
        """Whether earlier turns change what is searched for; otherwise a question is searched for as typed."""
        return not getattr(self.bundle.pipeline.queries, "changes_nothing", False)


def _short_name(node: Mapping[str, Any], key: str = "") -> str:
    """The short name of a component: the last part of its value under a key, or else of its module."""
    return str(node.get(key) or "").rpartition("/")[2] or str(node["_target_"]).split(".")[-2]


def ready(bundle: Bundle, source: Path) -> Model:
    """Replay the golden questions of a bundle and warm it up; ParityError if it does not answer as it was measured."""
    if mismatches := replay(bundle).mismatches:
        what = f"does not answer as it was measured, in {len(mismatches)} points; the first: {mismatches[0]}"
        raise ParityError(str(source), what, "use the versions in its manifest.json, or export it again")
    warm = replace(bundle.pipeline, queries=AsTyped())  # a model that rewrites questions would cost
    warm.contexts(warm.trace(Query("warm", "warm")))
    bundle = replace(bundle, pipeline=interactive(bundle.pipeline))
    model = Model(bundle, Batcher(bundle.pipeline), source)
    # The thread of a replaced model ends, without anything waiting for it, when its last question has been answered.
    finalize(model, threading.Thread(target=model.batcher.close, daemon=True).start).atexit = False
    return model


class Served:
    """Models by name; the first is the default. With `watch` a server reloads those whose files change."""

    def __init__(
        self, sources: Sequence[Path], opening: Callable[[Path], Bundle] = open_bundle, *, watch: bool = False
    ) -> None:
        self.watch = watch
        self._opening = opening
        self._lock = threading.Lock()
        self._models = tuple(ready(opening(source), source) for source in sources)
        self._former: dict[str, int] = {}

    @property
    def models(self) -> tuple[Model, ...]:
        """All models, the default first."""
        return self._models

    def pick(self, name: str | None) -> Model:
        """The model of a name, or of a bundle's hash; MissingError if there is none.

        The name of a replaced model means its replacement; a hash means exactly this bundle.
        """
        models = self._models
        if name is None or name == DEFAULT:
            return models[0]
        for model in models:
            if name in (model.name, model.bundle.digest):
                return model
        if name in self._former:
            return models[self._former[name]]
        raise MissingError("model", f"there is no {name!r}", closest(name, [model.name for model in models]))

    def switch(self, source: Path, place: int = 0) -> Model:
        """Open a bundle and answer from it from now on; running requests finish with the bundle before.

        If it is refused, or does not answer as it was measured, the bundle before stays.
        """
        with self._lock:
            bundle, before = self._opening(source), self._models[place]
            if bundle.digest == before.bundle.digest:
                return before
            fresh = ready(bundle, source)
            self._former[before.name] = place
            self._models = (*self._models[:place], fresh, *self._models[place + 1 :])
        LOG.info("%s now answers instead of %s", fresh.name, before.name)
        return fresh

    def refresh(self) -> None:
        """Open all sources again; a bundle that cannot be served is logged, and the bundle before stays."""
        for place, model in enumerate(self._models):
            try:
                self.switch(model.source, place)
            except (UserError, OSError) as error:
                LOG.error("%s goes on: %s", model.name, str(error).replace("\n", " "))


@asynccontextmanager
async def reloading(served: Served, every: float = 1.0) -> AsyncIterator[None]:
    """Reload at SIGHUP inside the block; with `watch`, also when a source has changed, checked every so many seconds."""
    due = asyncio.Event()
    with suppress(ValueError, RuntimeError, NotImplementedError):  # only a main thread gets signals, and not on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, due.set)
    task = asyncio.create_task(_reload_when_due(served, due, every if served.watch else None))
    try:
        yield
    finally:
        task.cancel()


async def _reload_when_due(served: Served, due: asyncio.Event, every: float | None) -> None:
    known = _states(served) if every else []
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(due.wait(), every)
        if every and (current := _states(served)) != known:
            known = current
            due.set()
        if due.is_set():
            due.clear()
            await run_in_threadpool(served.refresh)


def _states(served: Served) -> list[tuple[object, ...]]:
    return [_state(model.source) for model in served.models]


def _state(source: Path) -> tuple[object, ...]:
    """The target of a link, and inode, time and size of all files: they change with the bundle.

    The manifest alone does not suffice, because a copy may write it first.
    """
    with suppress(OSError):
        target = source.resolve(strict=True)
        files = sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]
        states = [(path, path.stat()) for path in files]
        return target, *((path, state.st_ino, state.st_mtime_ns, state.st_size) for path, state in states)
    return ()
