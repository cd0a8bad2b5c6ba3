"""Approximate search through a graph of near neighbours, with FAISS."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.components.indexes.array_checks import ensure, numbers_of, vectors_of
from rag.components.indexes.vectors import SPARE, FlatSearcher, required_vectors
from rag.core.checks import check_whole
from rag.core.types import Arrays, Vectors

Numbers = NDArray[np.int64]

WHERE = "index.faiss_hnsw"
MOST_LINKS = 1024


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


class FaissHnswIndex:
    """Hierarchical navigable small worlds (Malkov and Yashunin 2018): sublinear search, nearly exact.

    It is built on one thread in the order of the chunks, so that the same vectors give the same graph.
    """

    uses_vectors: ClassVar[bool] = True

    def __init__(self, m: int = 32, ef_construction: int = 200, ef_search: int = 64) -> None:
        check_whole(f"{WHERE}.m", m, 2, MOST_LINKS, "16 to 64 is usual")
        check_whole(f"{WHERE}.ef_construction", ef_construction, 1, hint="64 to 400 is usual")
        check_whole(f"{WHERE}.ef_search", ef_search, 1, hint="64 to 400 is usual")
        self.m, self.ef_construction, self.ef_search = m, ef_construction, ef_search

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Link every vector to its neighbours; `texts` are not read.

        `levels` is the number of layers of each chunk, `links` are the neighbours of all chunks, layer by layer, filled with
        -1, `entry` is the chunk at which a search begins.
        """
        import faiss

        rows = required_vectors(vectors)
        empty = np.zeros(0, np.int32)
        if not len(rows):
            return {"vectors": rows, "levels": empty, "links": empty, "entry": empty}
        index = self._empty(rows.shape[1])
        index.hnsw.efConstruction = self.ef_construction
        with one_thread():
            index.add(rows)
        graph = index.hnsw
        return {
            "vectors": rows,
            "levels": faiss.vector_to_array(graph.levels),
            "links": faiss.vector_to_array(graph.neighbors),
            "entry": np.array([graph.entry_point], np.int32),
        }

    def open(self, arrays: Arrays) -> ApproximateSearcher:
        """Make built arrays searchable; DataError for arrays that are not a valid graph."""
        import faiss

        vectors = vectors_of(arrays, WHERE)
        if not len(vectors):
            return ApproximateSearcher(vectors)
        index = self._empty(vectors.shape[1])
        graph = index.hnsw
        room = faiss.vector_to_array(graph.cum_nneighbor_per_level).astype(np.int64)
        levels, links, entry = _checked(arrays, len(vectors), room)
        index.storage.add(vectors)
        index.ntotal = len(vectors)
        faiss.copy_array_to_vector(levels.astype(np.int32), graph.levels)
        faiss.copy_array_to_vector(_offsets(levels, room).astype(np.uint64), graph.offsets)
        faiss.copy_array_to_vector(links.astype(np.int32), graph.neighbors)
        graph.entry_point, graph.max_level = entry, int(levels[entry]) - 1
        graph.efSearch = min(self.ef_search, len(vectors))
        return ApproximateSearcher(vectors, index)

    def _empty(self, dimensions: int) -> Any:
        import faiss

        return faiss.IndexHNSWFlat(dimensions, self.m, faiss.METRIC_INNER_PRODUCT)


def _offsets(levels: Numbers, room: Numbers) -> Numbers:
    """Where the links of each chunk begin, and where the last ones end; `room[n]` is the room for links of n layers."""
    return np.concatenate([[0], np.cumsum(room[levels])])


def _checked(arrays: Arrays, size: int, room: Numbers) -> tuple[Numbers, Numbers, int]:
    """Levels, links and entry; DataError if a search could leave the graph."""
    levels = numbers_of(arrays, WHERE, "levels", 1, len(room))
    links = numbers_of(arrays, WHERE, "links", -1, size)
    entry = numbers_of(arrays, WHERE, "entry", 0, size)
    ensure(len(levels) == size, WHERE, f"has levels of {len(levels)} chunks, and vectors of {size}")
    offsets = _offsets(levels, room)
    ensure(len(links) == offsets[-1], WHERE, f"holds {len(links)} links; expected {offsets[-1]}")
    ensure(len(entry) == 1 and levels[entry[0]] == levels.max(), WHERE, "begins below its highest layer")
    # A link of a layer must lead to a chunk of the same layer: only there does that chunk have links of its own.
    place = np.arange(len(links)) - np.repeat(offsets[:-1], room[levels])
    layer = np.searchsorted(room, place, "right")
    linked = links >= 0
    ensure((levels[links[linked]] >= layer[linked]).all(), WHERE, "links a chunk in a layer that it is not in")
    return levels, links, int(entry[0])
