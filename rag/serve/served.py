"""The bundles that a server answers from, by name; one can be exchanged while questions are being answered."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from weakref import finalize

from rag.bundle.opened import Bundle, open_bundle
from rag.errors import closest
from rag.pipeline import embed_queries
from rag.records import Document
from rag.serve.batching import Batcher
from rag.serve.database import MissingError

DEFAULT = "default"
"""The name that always leads to the first model."""


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

    @cached_property
    def documents(self) -> dict[str, Document]:
        """The documents by doc_id."""
        return {document.doc_id: document for document in self.bundle.pipeline.corpus.documents}


def warmed(bundle: Bundle, source: Path) -> Model:
    """A bundle that the first question need not wait for."""
    if any(bundle.pipeline.uses_vectors.values()):
        embed_queries(bundle.pipeline.embedder, [""])
    model = Model(bundle, Batcher(bundle.pipeline), source)
    # The thread of a model that was exchanged ends with the last question that it answers.
    finalize(model, model.batcher.close)
    return model


class Served:
    """Models by name, the first of them the default."""

    def __init__(self, sources: Sequence[Path], opening: Callable[[Path], Bundle] = open_bundle) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._models = tuple(self._open(source) for source in sources)
        self._former: dict[str, int] = {}

    def _open(self, source: Path) -> Model:
        return warmed(self._opening(source), source)

    @property
    def models(self) -> tuple[Model, ...]:
        """All of them, the default first."""
        return self._models

    def pick(self, name: str | None) -> Model:
        """The model of a name; MissingError where there is none. A name that was exchanged leads to what took its place."""
        models = self._models
        if name is None or name == DEFAULT:
            return models[0]
        for model in models:
            if model.name == name:
                return model
        if name in self._former:
            return models[self._former[name]]
        raise MissingError("model", f"there is no {name!r}", closest(name, [model.name for model in models]))

    def switch(self, source: Path, place: int = 0) -> Model:
        """Open a bundle and let it answer from now on; what is being answered goes on with the one before."""
        with self._lock:
            fresh = self._open(source)
            before = self._models[place]
            self._former[before.name] = place
            self._models = (*self._models[:place], fresh, *self._models[place + 1 :])
        return fresh
