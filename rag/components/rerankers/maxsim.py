"""Late interaction: a question and a passage are compared token by token.

Khattab & Zaharia 2020, "ColBERT". The token vectors are those of an ordinary sentence model, which was not trained for
this; the mean over the query's tokens instead of ColBERT's sum keeps scores of short and long questions on one scale.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError
from rag.core.roles import Windowed


class TokenEncoder(Protocol):
    """What this reranker needs of an embedder."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One array of shape (tokens, dimensions) per text, rows of length 1, without special tokens."""
        ...

    def fingerprint(self) -> str:
        """The model behind the vectors."""
        ...


@dataclass(frozen=True)
class MaxSimReranker:
    """Mean over the tokens of the query of the greatest cosine with a token of the passage: a number in [-1, 1].

    A query or a passage without tokens scores 0. The token vectors of passages stay in memory up to `cache_mb` megabytes,
    the ones used last; all rerankers in a process that use the same model and limit share them.
    """

    encoder: TokenEncoder
    cache_mb: int = 256
    pairwise: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("cache_mb",)

    def __post_init__(self) -> None:
        if not hasattr(self.encoder, "embed_tokens"):
            found = f"{type(self.encoder).__name__} gives no token vectors"
            raise ConfigError("reranker.encoder", found, "an embedder with embed_tokens, such as MiniLmEmbedder")
        if not self.cache_mb >= 0:
            raise ConfigError("reranker.runtime.cache_mb", f"found {self.cache_mb!r}", "megabytes, 0 for no cache")

    def fingerprint(self) -> str:
        """The encoder's."""
        return self.encoder.fingerprint()

    def window(self) -> int | None:
        """The encoder's: tokens beyond it are compared with nothing. ConfigError where it does not name one."""
        return self._windowed.window()

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The encoder's."""
        return self._windowed.token_offsets(text)

    @property
    def _windowed(self) -> Windowed:
        if isinstance(self.encoder, Windowed):
            return self.encoder
        raise ConfigError("reranker.encoder", f"{type(self.encoder).__name__} has no window", "an encoder with window()")

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A score per pair that depends on nothing but the two texts."""
        kept = _matrices(self.fingerprint(), self.cache_mb)
        return [self._scores(query, texts, kept) for query, texts in zip(queries, passages, strict=True)]

    def _scores(self, query: str, texts: Sequence[str], kept: "Matrices") -> list[float]:
        if not texts:
            return []
        (tokens,) = self.encoder.embed_tokens([query])
        return [late_interaction(tokens, self._passage(text, kept)) for text in texts]

    def _passage(self, text: str, kept: "Matrices") -> NDArray[np.float32]:
        matrix = kept.get(text)
        if matrix is None:
            (matrix,) = self.encoder.embed_tokens([text])
            kept.put(text, matrix)
        return matrix


def late_interaction(query: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
    """Mean over query rows of the greatest inner product with a passage row; 0 where either has no row."""
    if not len(query) or not len(passage):
        return 0.0
    return float((query @ passage.T).max(axis=1).mean(dtype=np.float64))


class Matrices:
    """Arrays by text, the least recently used dropped first when they take more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, text: str) -> NDArray[np.float32] | None:
        """The array of a text, if it is still here."""
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
            return self._kept.get(text)

    def put(self, text: str, matrix: NDArray[np.float32]) -> None:
        """Keep an array; one that is greater than the limit alone is not kept."""
        with self._lock:
            if text in self._kept or matrix.nbytes > self.limit:
                return
            self._kept[text] = matrix
            self.size += matrix.nbytes
            while self.size > self.limit:
                self.size -= self._kept.popitem(last=False)[1].nbytes


@lru_cache(maxsize=2)
def _matrices(fingerprint: str, megabytes: int) -> Matrices:
    return Matrices(megabytes * 2**20)
