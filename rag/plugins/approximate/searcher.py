"""Candidates of an approximate index of FAISS, and building one in the same way every time."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.components.indexes.vectors import SPARE, FlatSearcher
from rag.core.types import Vectors


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
