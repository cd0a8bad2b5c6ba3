"""The bundles that a server answers from, by name; one can be exchanged while questions are being answered."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import finalize

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.bundle.replay import replay
from rag.components.queries.none import AsTyped
from rag.core.errors import UserError, closest
from rag.core.records import Document, Query
from rag.serve.batching import Batcher
from rag.serve.database import MissingError
from rag.serve.retry_limits import prompt

LOG = logging.getLogger("rag.serve.loaded_bundles")
DEFAULT = "default"
"""The name that always leads to the first model."""


class ParityError(UserError):
    """A bundle does not answer as it was measured, and is not served."""


@dataclass(frozen=True, eq=False)
class Model:
    """An opened bundle that answers, `opened` seconds after 1970.

    Whoever holds one can finish with it, whatever takes its place meanwhile.
    """

    bundle: Bundle
    batcher: Batcher
    source: Path
    opened: int = field(default_factory=lambda: int(time.time()))

    @property
    def headers(self) -> dict[str, str]:
        """What every response of it says."""
        return {"X-Assay-Bundle": self.bundle.digest}

    @property
    def name(self) -> str:
        """As it is listed."""
        return self.bundle.name

    @property
    def title(self) -> str:
        """What it is, in words: its choices in the sweep that it comes from, else its parts."""
        manifest, config = self.bundle.manifest, self.bundle.config
        if manifest.name not in ("", "default"):
            return manifest.name
        chunks = "-".join(str(part) for part in (_called(config["chunker"]), config["chunker"].get("size")) if part)
        parts = (chunks, "+".join(config["index"]), _called(config["reranker"]), _called(config["generator"], "model"))
        return " · ".join(part for part in parts if part not in ("", "none"))

    @property
    def follows(self) -> bool:
        """Whether what was said before counts in what is searched for; otherwise it is looked for as it was typed."""
        return not getattr(self.bundle.pipeline.queries, "changes_nothing", False)

    @cached_property
    def documents(self) -> dict[str, Document]:
        """The documents by doc_id."""
        return {document.doc_id: document for document in self.bundle.pipeline.corpus.documents}


def _called(node: Mapping[str, Any], by: str = "") -> str:
    """The short name of a component: what it has under a key, else that of its module."""
    return str(node.get(by) or "").rpartition("/")[2] or str(node["_target_"]).split(".")[-2]


def ready(bundle: Bundle, source: Path) -> Model:
    """A bundle that answers as it was measured, so warm that the first question need not wait; ParityError otherwise."""
    if mismatches := replay(bundle).mismatches:
        what = f"does not answer as it was measured, in {len(mismatches)} points; the first: {mismatches[0]}"
        raise ParityError(str(source), what, "use the versions in its manifest.json, or export it again")
    warm = replace(bundle.pipeline, queries=AsTyped())  # a model that rewrites questions would cost
    warm.contexts(warm.trace(Query("warm", "warm")))
    bundle = replace(bundle, pipeline=prompt(bundle.pipeline))
    model = Model(bundle, Batcher(bundle.pipeline), source)
    # The thread of a model that was exchanged ends when the last question that it answers is done; nobody waits for that.
    finalize(model, threading.Thread(target=model.batcher.close, daemon=True).start).atexit = False
    return model


class Served:
    """Models by name, the first of them the default. With `watch` a server looks whether their sources change."""

    def __init__(
        self, sources: Sequence[Path], opening: Callable[[Path], Bundle] = open_bundle, *, watch: bool = False
    ) -> None:
        self.watch = watch
        self._opening = opening
        self._lock = threading.Lock()
        self._models = tuple(self._open(source) for source in sources)
        self._former: dict[str, int] = {}

    def _open(self, source: Path) -> Model:
        return ready(self._opening(source), source)

    @property
    def models(self) -> tuple[Model, ...]:
        """All of them, the default first."""
        return self._models

    def pick(self, name: str | None) -> Model:
        """The model of a name, or of a bundle's hash; MissingError where there is none.

        A name that was exchanged leads to what took its place; a hash means this bundle and no other.
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
        """Open a bundle and let it answer from now on; what is being answered goes on with the one before.

        Where it is refused, or does not answer as it was measured, the one before stays.
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
        """Open all sources again; one that cannot be served is told, and what it was stays."""
        for place, model in enumerate(self._models):
            try:
                self.switch(model.source, place)
            except (UserError, OSError) as error:
                LOG.error("%s goes on: %s", model.name, str(error).replace("\n", " "))
