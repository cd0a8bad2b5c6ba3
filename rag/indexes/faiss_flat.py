"""Exact search by inner product, with FAISS."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.indexes.vectors import SPARE, given, placed, rescored, stacked
from rag.rankings import Rankings
from rag.records import Allowed, Arrays, Vectors

MARGIN = 1e-5
"""Inner products of unit vectors this close in float32 may be equal or swapped once they are computed exactly."""


class FaissFlatIndex:
    """Compares a question with every chunk, so nothing is missed; with unit vectors the score is their cosine."""

    uses_vectors: ClassVar[bool] = True

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Keep the vectors, shape (chunks, dimensions); `texts` are not read."""
        return {"vectors": given(vectors)}

    def open(self, arrays: Arrays) -> "FlatSearcher":
        """Make built arrays searchable."""
        return FlatSearcher(np.ascontiguousarray(arrays["vectors"], dtype=np.float32))


class FlatSearcher:
    """Ranks all chunks; a ranking does not depend on the questions that are asked with it."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank by inner product with `vectors`, shape (questions, dimensions)."""
        if allowed is not None:
            places = np.flatnonzero(allowed)
            return placed(FlatSearcher(self.vectors[places]).search(texts, vectors, depth), places)
        import faiss

        size = len(self.vectors)
        queries = given(vectors, self.vectors.shape[1] if size else None)
        width = min(depth, size)
        if not width or not len(queries):
            return stacked([Rankings.pack([()])] * len(queries), width)
        fetched = min(width + SPARE, size)
        near, found = faiss.knn(queries, self.vectors, fetched, metric=faiss.METRIC_INNER_PRODUCT)
        rows = []
        for query, scores, positions in zip(queries, near, found, strict=True):
            edge = scores[width - 1] - MARGIN
            # Chunks with the same text tie, and a run of them may reach beyond what was fetched.
            chosen = positions if scores[-1] < edge or fetched == size else self._above(query, edge)
            rows.append(rescored(query, chosen, self.vectors[chosen], width))
        return stacked(rows, width)

    def _above(self, query: Vectors, edge: float) -> NDArray[np.int64]:
        return np.flatnonzero(self.vectors @ query >= edge)
