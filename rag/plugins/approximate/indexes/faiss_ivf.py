"""Approximate search in the lists of the nearest centroids, with FAISS."""

from collections.abc import Sequence
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from rag.components.indexes.array_checks import ensure, numbers_of, vectors_of
from rag.components.indexes.vectors import ApproximateSearcher, one_thread, required_vectors
from rag.core.checks import check_whole
from rag.core.types import Arrays, Vectors

WHERE = "index.faiss_ivf"


class FaissIvfIndex:
    """An inverted file (Sivic and Zisserman 2003): k-means divides the chunks into lists, and a search reads a few of them.

    `lists` is at most the number of chunks; None takes the square root of it. A search reads `probes` lists.
    """

    uses_vectors: ClassVar[bool] = True

    def __init__(self, lists: int | None = None, probes: int = 8, seed: int = 0) -> None:
        if lists is not None:
            check_whole("index.faiss_ivf.lists", lists, 1, hint="null takes the square root of the number of chunks")
        check_whole("index.faiss_ivf.probes", probes, 1, hint="to read all lists is exact")
        self.lists, self.probes, self.seed = lists, probes, seed

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Train the centroids on all vectors; `lists` holds the nearest centroid of every vector. `texts` are not read."""
        rows = required_vectors(vectors)
        if not len(rows):
            return {"vectors": rows, "centroids": rows, "lists": np.zeros(0, np.int32)}
        index = _empty(rows.shape[1], min(self.lists or isqrt(len(rows)), len(rows)))
        index.cp.seed = self.seed
        index.cp.min_points_per_centroid = 1  # small lists are intended; FAISS would warn on stderr
        with one_thread():
            index.train(rows)
            _, nearest = index.quantizer.search(rows, 1)
        centroids = index.quantizer.reconstruct_n(0, index.nlist)
        return {"vectors": rows, "centroids": centroids, "lists": nearest[:, 0].astype(np.int32)}

    def open(self, arrays: Arrays) -> ApproximateSearcher:
        """Make built arrays searchable; DataError for arrays that are not a valid index."""
        import faiss

        vectors, centroids = vectors_of(arrays, WHERE), vectors_of(arrays, WHERE, "centroids")
        lists = numbers_of(arrays, WHERE, "lists", 0, len(centroids))
        ensure(len(lists) == len(vectors), WHERE, f"has {len(lists)} chunks in its lists, and vectors of {len(vectors)}")
        if not len(vectors):
            return ApproximateSearcher(vectors)
        ensure(centroids.shape[1] == vectors.shape[1], WHERE, "holds centroids and vectors of different dimensions")
        index = _empty(vectors.shape[1], len(centroids))
        index.quantizer.add(centroids)
        index.is_trained, index.nprobe = True, min(self.probes, len(centroids))
        index.add_core(len(vectors), faiss.swig_ptr(vectors), None, faiss.swig_ptr(lists))
        return ApproximateSearcher(vectors, index)


def _empty(dimensions: int, lists: int) -> Any:
    import faiss

    return faiss.IndexIVFFlat(faiss.IndexFlatIP(dimensions), dimensions, lists, faiss.METRIC_INNER_PRODUCT)
