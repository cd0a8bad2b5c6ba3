"""Cross-encoders: a model reads question and passage together and scores the pair.

Nogueira & Cho 2019, "Passage Re-ranking with BERT". Any cross-encoder of the sentence-transformers library, from the hub at
a pinned revision or from a folder; weights are read from safetensors only, and no code of a repository is run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.models.pinned import PinnedComponent, readable
from rag.core.models.sentence_models import load_cross_encoder

TURN = Lock()
"""One thread at a time loads or runs a model: its tokenizer sets padding in every call."""


@dataclass(frozen=True)
class CrossEncoderReranker(PinnedComponent):
    """The logit of the model's only label. A sigmoid would keep the order, but give the best passages tied scores.

    `model` is a folder or a hub id; a hub id needs a `revision`. Question and passage together are cut to `max_length`
    tokens: the part of a passage that is read depends on the question, and no part counts as unread. `batch_size` is 1
    because padding changes the last bits of scores; raise it on a GPU. `cache` is the hub's folder, None for its default.
    """

    model: str
    revision: str | None = None
    max_length: int = 512
    device: str = "cpu"
    batch_size: int = 1
    cache: str | None = None
    pairwise: ClassVar[bool] = True
    role: ClassVar[str] = "reranker"
    runtime: ClassVar[tuple[str, ...]] = ("device", "batch_size", "cache")

    def __post_init__(self) -> None:
        check_whole("reranker.max_length", self.max_length, 1)
        check_whole("reranker.runtime.batch_size", self.batch_size, 1)
        self.source  # noqa: B018 - checks the model

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A score per pair that depends only on the two texts."""
        pairs = [(readable(query), readable(text)) for query, texts in zip(queries, passages, strict=True) for text in texts]
        values = iter(self._predict(pairs) if pairs else [])
        return [[next(values) for _ in texts] for texts in passages]

    def _predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        folder = self.source.folder
        scores: list[float] = []
        for start in range(0, len(pairs), self.batch_size):
            batch = pairs[start : start + self.batch_size]
            with TURN:
                model = _load(folder, self.device, self.max_length)
                scores += model.predict(batch, batch_size=self.batch_size, show_progress_bar=False).tolist()
        return scores


@lru_cache(maxsize=2)
def _load(folder: Path, device: str, max_length: int) -> Any:
    model = load_cross_encoder("reranker", folder, device, max_length)
    if model.num_labels != 1:
        raise ConfigError("reranker.model", f"{folder} has {model.num_labels} labels", "a model with one label, a relevance")
    return model
