"""Passages that were encoded before any question: by their text, for rerankers and selectors that compare them.

Token vectors are rounded to whole numbers, with a scale for each: a quarter of the memory. Their inner products are sums of whole
numbers, below 2**24 with up to 1,040 dimensions: float32 holds these exactly in any order, so scores have the same bits everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import DataError
from rag.core.roles import Embedder
from rag.core.types import Arrays, Vectors

STEPS = 127
"""The largest whole number in a token vector."""
AGAIN = "build it again, or export the bundle again"


class TokenEncoder(Protocol):
    """An embedder with a vector per token."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One array of shape (tokens, dimensions) per text, rows of length 1, without special tokens."""
        ...

    def fingerprint(self) -> str:
        """The name or hash of the model."""
        ...


class TokenVectors(NamedTuple):
    """The token vectors of a text: `rows`, int8 of shape (tokens, dimensions), times `scales`, float32, one for each row."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> "TokenVectors":
        """Rounded vectors of length 1: the greatest number of each row becomes STEPS or -STEPS."""
        steps = np.rint(vectors * (STEPS / np.abs(vectors).max(axis=1, initial=1e-12)[:, None]))
        return cls(steps.astype(np.int8), (1 / np.linalg.norm(steps, axis=1).clip(1)).astype(np.float32))

    @property
    def nbytes(self) -> int:
        """The bytes that they take."""
        return self.rows.nbytes + self.scales.nbytes


def joined(parts: Sequence[TokenVectors]) -> Arrays:
    """The token vectors of several texts as arrays: `rows`, `scales`, and in `ends` the number of tokens up to each text."""
    return {
        "rows": np.concatenate([part.rows for part in parts]),
        "scales": np.concatenate([part.scales for part in parts]),
        "ends": np.cumsum([len(part.rows) for part in parts], dtype=np.int64),
    }


class KnownTokens:
    """An encoder, and the token vectors of passages that it has encoded: `arrays` of `joined`, for `texts` in their order.

    DataError for arrays that are not the token vectors of so many texts.
    """

    def __init__(self, encoder: TokenEncoder, texts: Sequence[str], arrays: Arrays) -> None:
        self.encoder = encoder
        self._rows, self._scales, ends = (arrays.get(name, np.zeros(())) for name in ("rows", "scales", "ends"))
        shapes = [(array.dtype.name, array.ndim) for array in (self._rows, self._scales, ends)]
        if shapes != [("int8", 2), ("float32", 1), ("int64", 1)] or len(ends) != len(texts):
            raise DataError("token vectors", f"are no arrays for {len(texts):,} passages", AGAIN)
        starts = np.concatenate([[0], ends])
        if (np.diff(starts) < 0).any() or not int(starts[-1]) == len(self._rows) == len(self._scales):
            raise DataError("token vectors", "do not end where their passages end", AGAIN)
        if not np.isfinite(self._scales).all() or (self._scales < 0).any() or (self._scales * STEPS > 1.001).any():
            raise DataError("token vectors", "have scales that no vector of length 1 has", AGAIN)
        self._places = dict(zip(texts, zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True), strict=True))

    def known(self, text: str) -> TokenVectors | None:
        """The token vectors of a passage; None if it is not among the encoded ones."""
        if text not in self._places:
            return None
        own = slice(*self._places[text])
        return TokenVectors(self._rows[own], self._scales[own])

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The token vectors of the encoder."""
        return self.encoder.embed_tokens(texts)

    def fingerprint(self) -> str:
        """The fingerprint of the encoder."""
        return self.encoder.fingerprint()


@dataclass(frozen=True)
class KnownVectors:
    """An embedder, and the unit vectors of passages that it has embedded, by text."""

    embedder: Embedder
    vectors: Mapping[str, Vectors]

    @classmethod
    def of(cls, embedder: Embedder, texts: Sequence[str], arrays: Arrays) -> "KnownVectors":
        """The array `vectors` of an index has one row for each text."""
        return cls(embedder, dict(zip(texts, arrays["vectors"], strict=True)))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions); the embedder reads those that are not known."""
        new = [text for text in texts if text not in self.vectors]
        made: Iterator[Any] = iter(self.embedder.embed_documents(new) if new else ())
        return np.array([self.vectors[text] if text in self.vectors else next(made) for text in texts], np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the embedder."""
        return self.embedder.embed_queries(texts)
