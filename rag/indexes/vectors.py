"""What the vector indexes share: one way to score candidates, and FAISS indexes as arrays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.errors import ConfigError
from rag.rankings import NOTHING, Rankings
from rag.records import Allowed, Arrays, Vectors

SPARE = 16
"""How many candidates more than asked for are fetched, so that ties at the edge can fall by position."""


def given(vectors: Vectors | None, dimensions: int | None = None) -> Vectors:
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


def serialised(index: Any) -> Arrays:
    """A FAISS index as an array of bytes; no bytes for no index."""
    import faiss

    return {"index": np.zeros(0, np.uint8) if index is None else faiss.serialize_index(index)}


def deserialised(arrays: Arrays) -> Any:
    """The FAISS index that `serialised` wrote, None if it holds nothing."""
    import faiss

    return faiss.deserialize_index(np.array(arrays["index"])) if arrays["index"].size else None


class ApproximateSearcher:
    """Lets a FAISS index propose candidates, and ranks them by exact inner products."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank what the index proposes; rows may end early where it proposes fewer than `depth`."""
        queries = given(vectors, None if self.index is None else self.index.d)
        if allowed is not None and self.index is not None:
            places = np.flatnonzero(allowed)
            return stacked(
                [rescored(query, places, self._vectors[places], depth) for query in queries], min(depth, len(places))
            )
        width = 0 if self.index is None else min(depth, self.index.ntotal)
        if not width:
            return stacked([Rankings.pack([()])] * len(queries), 0)
        # One question at a time: FAISS chooses other kernels for larger batches, and so at times other candidates.
        return stacked([self._one(query, width) for query in queries], width)

    @cached_property
    def _vectors(self) -> Vectors:
        """All vectors, by position: a restricted search compares with each that is allowed, and misses none."""
        if hasattr(self.index, "make_direct_map"):
            self.index.make_direct_map()
        return np.asarray(self.index.reconstruct_n(0, self.index.ntotal), np.float32)

    def _one(self, query: Vectors, width: int) -> Rankings:
        fetched = min(width + SPARE, self.index.ntotal)
        _, positions, candidates = self.index.search_and_reconstruct(query[None], fetched)
        found = positions[0] >= 0
        return rescored(query, positions[0][found], candidates[0][found], width)
