"""Approximate search through a graph of near neighbours, with FAISS."""

from collections.abc import Sequence
from typing import ClassVar

from rag.errors import ConfigError
from rag.indexes.vectors import ApproximateSearcher, deserialised, given, one_thread, serialised
from rag.records import Arrays, Vectors


class FaissHnswIndex:
    """Hierarchical navigable small worlds (Malkov and Yashunin 2018): sublinear search, nearly exact.

    It is built on one thread in the order of the chunks, so that the same vectors give the same graph.
    """

    uses_vectors: ClassVar[bool] = True

    def __init__(self, m: int = 32, ef_construction: int = 200, ef_search: int = 64) -> None:
        if m < 2:
            raise ConfigError("index.faiss_hnsw.m", f"{m} links are no graph", "2 or more; 16 to 64 is usual")
        for name, value in (("ef_construction", ef_construction), ("ef_search", ef_search)):
            if value < 1:
                raise ConfigError(f"index.faiss_hnsw.{name}", f"{value} finds nothing", "1 or more; 64 to 400 is usual")
        self.m, self.ef_construction, self.ef_search = m, ef_construction, ef_search

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Link every vector to its neighbours; `texts` are not read."""
        import faiss

        rows = given(vectors)
        if not len(rows):
            return serialised(None)
        index = faiss.IndexHNSWFlat(rows.shape[1], self.m, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.ef_construction
        with one_thread():
            index.add(rows)
        return serialised(index)

    def open(self, arrays: Arrays) -> ApproximateSearcher:
        """Make built arrays searchable."""
        index = deserialised(arrays)
        if index is not None:
            index.hnsw.efSearch = self.ef_search
        return ApproximateSearcher(index)
