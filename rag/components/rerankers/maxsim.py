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

from rag.core.checks import check_number
from rag.core.errors import ConfigError
from rag.core.roles import Windowed


class TokenEncoder(Protocol):
    """An embedder with a vector per token."""

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One array of shape (tokens, dimensions) per text, rows of length 1, without special tokens."""
        ...

    def fingerprint(self) -> str:
        """The name or hash of the model."""
        ...


@dataclass(frozen=True)
class MaxSimReranker:
    """Mean over the tokens of the query of the greatest cosine with a token of the passage: a number in [-1, 1].

    A query or a passage without tokens scores 0. The token vectors of passages stay in memory up to `cache_mb` megabytes,
    the most recently used; all rerankers of a process with the same model and limit share them.
    """

    encoder: TokenEncoder
    cache_mb: int = 256
    pairwise: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("cache_mb",)

    def __post_init__(self) -> None:
        if not hasattr(self.encoder, "embed_tokens"):
            what = f"{type(self.encoder).__name__} gives no token vectors"
            raise ConfigError("reranker.encoder", what, "an embedder with embed_tokens, such as MiniLmEmbedder")
        check_number("reranker.runtime.cache_mb", self.cache_mb, 0, hint="megabytes, 0 for no cache")

    def fingerprint(self) -> str:
        """The fingerprint of the encoder."""
        return self.encoder.fingerprint()

    def window(self) -> int | None:
        """The window of the encoder: later tokens are not compared. ConfigError if the encoder has none."""
        return self._windowed.window()

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The tokens of the encoder."""
        return self._windowed.token_offsets(text)

    @property
    def _windowed(self) -> Windowed:
        if isinstance(self.encoder, Windowed):
            return self.encoder
        raise ConfigError("reranker.encoder", f"{type(self.encoder).__name__} has no window", "an encoder with window()")

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A score per pair that depends only on the two texts."""
        cache = _matrices(self.fingerprint(), self.cache_mb)
        return [self._scores(query, texts, cache) for query, texts in zip(queries, passages, strict=True)]

    def _scores(self, query: str, texts: Sequence[str], cache: "Matrices") -> list[float]:
        if not texts:
            return []
        (tokens,) = self.encoder.embed_tokens([query])
        return [late_interaction(tokens, self._passage(text, cache)) for text in texts]

    def _passage(self, text: str, cache: "Matrices") -> NDArray[np.float32]:
        matrix = cache.get(text)
        if matrix is None:
            (matrix,) = self.encoder.embed_tokens([text])
            cache.put(text, matrix)
        return matrix


def late_interaction(query: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
    """Mean over query rows of the greatest inner product with a passage row; 0 if either has no row."""
    if not len(query) or not len(passage):
        return 0.0
    return float((query @ passage.T).max(axis=1).mean(dtype=np.float64))


class Matrices:
    """Arrays by text; above `limit` bytes the least recently used are dropped."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, text: str) -> NDArray[np.float32] | None:
        """The array of a text, None if it was dropped."""
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
            return self._kept.get(text)

    def put(self, text: str, matrix: NDArray[np.float32]) -> None:
        """Keep an array, unless it alone exceeds the limit."""
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
