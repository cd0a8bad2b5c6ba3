"""Exact and approximate search in vectors: FAISS proposes candidates, and inner products in float64 rank them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings
from rag.core.types import Allowed, Vectors

SPARE = 16
"""Candidates that are fetched beyond the depth, so that ties at the edge can be ordered by position."""
MARGIN = 1e-5
"""Inner products of unit vectors this close in float32 may be equal, or in another order, once they are computed exactly."""


def required_vectors(vectors: Vectors | None, dimensions: int | None = None) -> Vectors:
    """The vectors, laid out as FAISS reads them; TypeError for None, ConfigError unless they have these `dimensions`."""
    if vectors is None:
        raise TypeError("a vector index needs vectors")
    if dimensions is not None and vectors.shape[1] != dimensions:
        what = f"gives {vectors.shape[1]} dimensions for questions, and gave {dimensions} for passages"
        raise ConfigError("embedder", what, "one model must embed both")
    return np.ascontiguousarray(vectors, dtype=np.float32)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS build on one thread of the caller: only then does every version of it build the same graph twice."""
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


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
        import faiss

        fetched = min(width + SPARE, self.size)
        products, positions = faiss.knn(queries, self.vectors, fetched, metric=faiss.METRIC_INNER_PRODUCT)
        for query, scores, nearest in zip(queries, products, positions, strict=True):
            edge = scores[width - 1] - MARGIN
            # Chunks with the same text tie, and a run of them may reach beyond the fetched ones.
            complete = scores[-1] < edge or fetched == self.size
            yield nearest if complete else np.flatnonzero(self.vectors @ query >= edge)

    def _ranked(self, query: Vectors, positions: NDArray[np.int64], width: int) -> list[tuple[int, float]]:
        """The best candidates of one query.

        float32 products differ in their last bits with the batch and the machine, and rounding then tips either way. Products
        of the same float32 vectors in float64 agree in every digit that counts.
        """
        scores = self.vectors[positions].astype(np.float64) @ query.astype(np.float64)
        return Rankings.ordered(positions[None], scores[None], width).row(0)


class ApproximateSearcher(FlatSearcher):
    """Ranks the candidates that a FAISS index proposes; rows end early if it proposes fewer than `depth`.

    `index` is None if there are no chunks.
    """

    def __init__(self, vectors: Vectors, index: Any = None) -> None:
        super().__init__(vectors)
        self.index = index

    def _candidates(self, queries: Vectors, width: int) -> Iterable[NDArray[np.int64]]:
        for query in queries:
            # One query at a time: FAISS chooses other kernels for larger batches, and at times other candidates.
            _, positions = self.index.search(query[None], min(width + SPARE, self.size))
            yield positions[0][positions[0] >= 0]
