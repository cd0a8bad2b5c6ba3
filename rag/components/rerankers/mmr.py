"""Maximal marginal relevance: relevant passages that do not repeat each other.

Carbonell & Goldstein 1998, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError
from rag.core.rankings import DIGITS
from rag.core.records import Vectors
from rag.core.roles import Embedder, fingerprint


@dataclass(frozen=True)
class MmrReranker:
    """Picks passages one by one: the one with the greatest w · cosine(query, passage) - (1 - w) · redundancy comes next.

    Redundancy is the greatest cosine with a passage already picked, and at least 0: an opposite passage earns no bonus, and
    the values of successive picks never rise. `relevance_weight` is w; 1 leaves plain relevance, 0 plain diversity.
    """

    embedder: Embedder
    relevance_weight: float = 0.7
    pairwise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.relevance_weight <= 1:
            raise ConfigError("reranker.relevance_weight", f"found {self.relevance_weight!r}", "a number from 0 to 1")

    def fingerprint(self) -> str:
        """The embedder's."""
        return fingerprint(self.embedder)

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """The value at which each passage was picked; sorted by it, first given first, passages stand as they were picked."""
        distinct = list(dict.fromkeys(text for texts in passages for text in texts))
        if not distinct:
            return [[] for _ in queries]
        asked = _unit(self.embedder.embed_queries(queries))
        vectors = _unit(self.embedder.embed_documents(distinct))
        place = {text: row for row, text in enumerate(distinct)}
        chosen = [vectors[[place[text] for text in texts]] for texts in passages]
        return [
            picked_at(rows @ query, rows @ rows.T, self.relevance_weight) for query, rows in zip(asked, chosen, strict=True)
        ]


def picked_at(relevance: NDArray[np.floating], similarity: NDArray[np.floating], weight: float) -> list[float]:
    """The marginal relevance of each candidate at the moment when it is picked.

    `relevance` has shape (candidates,), `similarity` (candidates, candidates). Values are rounded as rankings are before they
    are compared, so that of candidates that count as equal the first is picked, on every machine.
    """
    values = np.zeros(len(relevance))
    redundancy = np.zeros(len(relevance))
    open_ = np.ones(len(relevance), dtype=bool)
    for _ in range(len(relevance)):
        marginal = np.round(weight * relevance.astype(np.float64) - (1 - weight) * redundancy, DIGITS)
        pick = int(np.where(open_, marginal, -np.inf).argmax())
        values[pick] = marginal[pick]
        open_[pick] = False
        redundancy = np.maximum(redundancy, similarity[pick])
    return [float(value) for value in values]


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
