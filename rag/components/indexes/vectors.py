"""What the vector indexes share: exact search, one way to score candidates, and approximate search around it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings
from rag.core.records import Allowed, Vectors

SPARE = 16
"""How many candidates more than asked for are fetched, so that ties at the edge can fall by position."""


MARGIN = 1e-5
"""Inner products of unit vectors this close in float32 may be equal or swapped once they are computed exactly."""


def required_vectors(vectors: Vectors | None, dimensions: int | None = None) -> Vectors:
    """The vectors, laid out as FAISS reads them; TypeError if there are none, ConfigError for other `dimensions` than these."""
    if vectors is None:
        raise TypeError("a vector index was given no vectors")
    if dimensions is not None and vectors.shape[1] != dimensions:
        what = f"gives {vectors.shape[1]} dimensions for questions, and gave {dimensions} for passages"
        raise ConfigError("embedder", what, "one model must embed both")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def rescored(query: Vectors, positions: NDArray[np.int64], candidates: Vectors, depth: int) -> Rankings:
    """Rank the candidates of one question, row i of `candidates` being the vector at `positions[i]`.

    float32 products differ in their last bits with the batch and the machine, and rounding then tips either way. Products
    of the same float32 vectors in float64 agree in every digit that counts.
    """
    scores = candidates.astype(np.float64) @ query.astype(np.float64)
    return Rankings.ordered(positions[None], scores[None], depth)


def stacked(rows: Sequence[Rankings], width: int) -> Rankings:
    """Rankings of one question each as the rows of one table, filled up to `width`."""
    table = Rankings(np.full((len(rows), width), NOTHING, np.int32), np.full((len(rows), width), -np.inf))
    for number, row in enumerate(rows):
        found = row.positions.shape[1]
        table.positions[number, :found] = row.positions[0]
        table.scores[number, :found] = row.scores[0]
    return table


def placed(rankings: Rankings, places: NDArray[np.int64]) -> Rankings:
    """Rankings of a part of the corpus, row i of which stands at `places[i]`, as rankings of the corpus."""
    known = np.append(places, NOTHING).astype(np.int32)
    return Rankings(known[rankings.positions], rankings.scores)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS build on one thread of the caller: only then does every version of it promise the same graph twice."""
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


class FlatSearcher:
    """Ranks all chunks; a ranking does not depend on the questions that are asked with it."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        return len(self.vectors)

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank by inner product with `vectors`, shape (questions, dimensions)."""
        if allowed is not None:
            places = np.flatnonzero(allowed)
            return placed(FlatSearcher(self.vectors[places]).search(texts, vectors, depth), places)
        import faiss

        size = len(self.vectors)
        queries = required_vectors(vectors, self.vectors.shape[1] if size else None)
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


class ApproximateSearcher:
    """Lets a FAISS index propose candidates, and ranks them by exact inner products; without `index` there are no chunks."""

    def __init__(self, vectors: Vectors, index: Any = None) -> None:
        self.vectors, self.index = vectors, index

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        return len(self.vectors)

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank what the index proposes; rows may end early where it proposes fewer than `depth`.

        A restricted search compares with every chunk that is allowed, and misses none of them.
        """
        if allowed is not None:
            return FlatSearcher(self.vectors).search(texts, vectors, depth, allowed)
        queries = required_vectors(vectors, self.vectors.shape[1] if self.size else None)
        width = min(depth, self.size)
        if not width:
            return stacked([Rankings.pack([()])] * len(queries), 0)
        # One question at a time: FAISS chooses other kernels for larger batches, and so at times other candidates.
        return stacked([self._one(query, width) for query in queries], width)

    def _one(self, query: Vectors, width: int) -> Rankings:
        _, positions = self.index.search(query[None], min(width + SPARE, self.size))
        found = positions[0][positions[0] >= 0]
        return rescored(query, found, self.vectors[found], width)
