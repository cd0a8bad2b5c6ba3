"""Exact search by inner product, with FAISS."""

from collections.abc import Sequence
from typing import ClassVar

from rag.components.indexes.array_checks import vectors_of
from rag.components.indexes.vectors import FlatSearcher, required_vectors
from rag.core.types import Arrays, Vectors


class FaissFlatIndex:
    """Compares a question with every chunk, so it misses nothing; with unit vectors the score is their cosine."""

    uses_vectors: ClassVar[bool] = True

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Keep the vectors, shape (chunks, dimensions); `texts` are not read."""
        return {"vectors": required_vectors(vectors)}

    def open(self, arrays: Arrays) -> FlatSearcher:
        """Make built arrays searchable; DataError for arrays that are not a valid index."""
        return FlatSearcher(vectors_of(arrays, "index.faiss_flat"))
