"""Approximate search in the lists of the nearest centroids, with FAISS."""

from collections.abc import Sequence
from math import isqrt
from typing import ClassVar

from rag.errors import ConfigError
from rag.indexes.vectors import ApproximateSearcher, deserialised, given, one_thread, serialised
from rag.records import Arrays, Vectors


class FaissIvfIndex:
    """An inverted file (Sivic and Zisserman 2003): k-means cuts the chunks into lists, and a question reads a few of them.

    Without `lists` there are as many as the square root of the number of chunks, and never more than chunks.
    """

    uses_vectors: ClassVar[bool] = True

    def __init__(self, lists: int | None = None, probes: int = 8, seed: int = 0) -> None:
        if lists is not None and lists < 1:
            raise ConfigError("index.faiss_ivf.lists", f"{lists} lists hold nothing", "1 or more; null takes the square root")
        if probes < 1:
            raise ConfigError("index.faiss_ivf.probes", f"{probes} lists read find nothing", "1 or more; all of them are exact")
        self.lists, self.probes, self.seed = lists, probes, seed

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Train the centroids on all vectors and file every vector under its nearest; `texts` are not read."""
        import faiss

        rows = given(vectors)
        if not len(rows):
            return serialised(None)
        lists = min(self.lists or isqrt(len(rows)), len(rows))
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(rows.shape[1]), rows.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
        index.cp.seed = self.seed
        index.cp.min_points_per_centroid = 1  # few chunks per list are meant; FAISS would warn on stderr
        with one_thread():
            index.train(rows)
            index.add(rows)
        return serialised(index)

    def open(self, arrays: Arrays) -> ApproximateSearcher:
        """Make built arrays searchable."""
        index = deserialised(arrays)
        if index is not None:
            index.nprobe = self.probes
        return ApproximateSearcher(index)
