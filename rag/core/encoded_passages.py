"""Passages that were encoded before any question: by their text, for rerankers and selectors that compare them.

Token vectors are rounded to int8, a quarter of the memory; each row stands for a vector of length 1. Inner products of rows are
whole numbers, below 2**24 with up to 1,040 dimensions: float32 holds these exactly, so scores have the same bits everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import DataError
from rag.core.roles.retrieving import Embedder, TokenOffsets
from rag.core.types import Arrays, Vectors

TokenRows = NDArray[np.int8]
"""The token vectors of a text, shape (tokens, dimensions)."""


class TokenEncoder(Embedder, TokenOffsets, Protocol):
    """An embedder with token vectors."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One array of shape (tokens, dimensions) per text, rows of length 1, without special tokens."""


def rounded(vectors: NDArray[np.float32]) -> TokenRows:
    """Token vectors in whole numbers: the greatest of each row becomes 127 or -127."""
    rows: TokenRows = np.rint(vectors * (127 / np.abs(vectors).max(axis=1, initial=1e-12)[:, None])).astype(np.int8)
    return rows


def joined(parts: Sequence[TokenRows]) -> Arrays:
    """The token vectors of several texts as arrays: `rows`, and in `ends` the number of tokens up to the end of each text."""
    return {"rows": np.concatenate(parts), "ends": np.cumsum([len(part) for part in parts], dtype=np.int64)}


def passages_of(texts: Sequence[str], arrays: Arrays) -> dict[str, NDArray[Any]]:
    """By text the rows of `joined`, or the vectors of an index; DataError for arrays of other passages."""
    if "vectors" in arrays:
        return dict(zip(texts, arrays["vectors"], strict=True))
    rows, ends = (arrays.get(name, np.zeros(())) for name in ("rows", "ends"))
    known = (rows.dtype.name, rows.ndim, ends.dtype.name, ends.shape) == ("int8", 2, "int64", (len(texts),))
    if not known or (np.diff(ends, prepend=0) < 0).any() or ends[-1:].tolist() != [len(rows)]:
        what = f"are not those of {len(texts):,} passages"
        raise DataError("token vectors", what, "build them again, or export the bundle again")
    return dict(zip(texts, np.split(rows, ends[:-1]), strict=True))


@dataclass(frozen=True)
class KnownPassages:
    """An embedder, and what it made of passages, by text; it reads others itself, and has the embedder's other methods."""

    embedder: Any
    known: Mapping[str, NDArray[Any]]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions)."""
        new = [text for text in texts if text not in self.known]
        made: Iterator[Any] = iter(self.embedder.embed_documents(new) if new else ())
        return np.array([self.known[text] if text in self.known else next(made) for text in texts], np.float32)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.embedder, name)
