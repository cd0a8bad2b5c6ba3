"""Search in vectors: inner products in float32 propose candidates, and those in float64 rank them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings
from rag.core.types import Allowed, Vectors

SPARE = 16
"""Candidates that a server or an approximate index proposes beyond the depth, so that ties at the edge can be ordered."""
AT_ONCE = 1 << 24
"""Products in float32 that are held at once: 64 MB."""
MARGIN = 1e-5
"""Inner products of unit vectors this close in float32 may be equal, or in another order, once they are computed exactly."""


def required_vectors(vectors: Vectors | None, dimensions: int | None = None) -> Vectors:
    """The vectors, in rows of float32; TypeError for None, ConfigError unless they have these `dimensions`."""
    if vectors is None:
        raise TypeError("a vector index needs vectors")
    if dimensions is not None and vectors.shape[1] != dimensions:
        what = f"gives {vectors.shape[1]} dimensions for questions, and gave {dimensions} for passages"
        raise ConfigError("embedder", what, "one model must embed both")
    return np.ascontiguousarray(vectors, dtype=np.float32)


class FlatSearcher:
    """Exact search: ranks all chunks. A ranking does not depend on the other questions of its batch."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    @property
    def size(self) -> int:
        """The number of chunks."""
        return len(self.vectors)

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank by inner product with `vectors`, shape (questions, dimensions).

        A search with `allowed` is exact with every index: it compares the question with every allowed chunk.
        """
        if allowed is not None:
            places = np.flatnonzero(allowed)
            ranked = FlatSearcher(self.vectors[places]).search(texts, vectors, depth)
            return Rankings(np.append(places, NOTHING).astype(np.int32)[ranked.positions], ranked.scores)
        queries = required_vectors(vectors, self.vectors.shape[1] if self.size else None)
        width = min(depth, self.size)
        if not width or not len(queries):
            return Rankings.pack([()] * len(queries), width)
        pairs = zip(queries, self._candidates(queries, width), strict=True)
        return Rankings.pack([self._ranked(query, found, width) for query, found in pairs], width)

    def _candidates(self, queries: Vectors, width: int) -> Iterable[NDArray[np.int64]]:
        """For each query the positions that may be among its best `width`."""
        at_once = max(1, AT_ONCE // self.size)
        for first in range(0, len(queries), at_once):
            products = queries[first : first + at_once] @ self.vectors.T
            last = np.partition(products, self.size - width, axis=1)[:, self.size - width]
            # Chunks with the same text tie: there can be more candidates than `width`.
            yield from (np.flatnonzero(row >= edge) for row, edge in zip(products, last - MARGIN, strict=True))

    def _ranked(self, query: Vectors, positions: NDArray[np.int64], width: int) -> list[tuple[int, float]]:
        """The best candidates of one query.

        float32 products differ in their last bits with the batch and the machine, and rounding then tips either way. Products
        of the same float32 vectors in float64 agree in every digit that counts.
        """
        scores = self.vectors[positions].astype(np.float64) @ query.astype(np.float64)
        return Rankings.ordered(positions[None], scores[None], width).row(0)
