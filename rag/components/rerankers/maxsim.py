"""Late interaction: a question and a passage are compared token by token.

Khattab & Zaharia 2020, "ColBERT". The token vectors are those of an ordinary sentence model, which was not trained for
this; the mean over the query's tokens instead of ColBERT's sum keeps scores of short and long questions on one scale.
All token vectors are rounded to int8, whether a passage was encoded before any question or is encoded now.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import ClassVar

import numpy as np

from rag.core.checks import check_number
from rag.core.encoded_passages import KnownTokens, TokenEncoder, TokenVectors
from rag.core.errors import ConfigError
from rag.core.numbers import mean
from rag.core.roles import Windowed
from rag.core.types import Arrays


@dataclass(frozen=True)
class MaxSimReranker:
    """Mean over the tokens of the query of the greatest cosine with a token of the passage: a number in [-1, 1].

    A query or a passage without tokens scores 0. The token vectors of other passages than `knowing` gave stay in memory up to
    `cache_mb` megabytes, the most recently used; all rerankers of a process with the same model and limit share them.
    """

    encoder: TokenEncoder
    cache_mb: int = 256
    pairwise: ClassVar[bool] = True
    compares: ClassVar[tuple[str, str]] = ("tokens", "encoder")
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

    def knowing(self, texts: Sequence[str], arrays: Arrays) -> "MaxSimReranker":
        """The same reranker with the token vectors of these passages; DataError for arrays that are not theirs."""
        return replace(self, encoder=KnownTokens(self.encoder, texts, arrays))

    def _scores(self, query: str, texts: Sequence[str], cache: "Matrices") -> list[float]:
        if not texts:
            return []
        (tokens,) = self.encoder.embed_tokens([query])
        question = TokenVectors.of(tokens)
        return [late_interaction(question, self._passage(text, cache)) for text in texts]

    def _passage(self, text: str, cache: "Matrices") -> TokenVectors:
        vectors = self.encoder.known(text) if isinstance(self.encoder, KnownTokens) else None
        if vectors is None and (vectors := cache.get(text)) is None:
            vectors = TokenVectors.of(self.encoder.embed_tokens([text])[0])
            cache.put(text, vectors)
        return vectors


def late_interaction(query: TokenVectors, passage: TokenVectors) -> float:
    """Mean over query rows of the greatest inner product with a passage row; 0 if either has no row."""
    if not len(query.rows) or not len(passage.rows):
        return 0.0
    products = passage.rows.astype(np.float32) @ query.rows.astype(np.float32).T
    best = (products * passage.scales[:, None]).max(axis=0) * query.scales
    return mean(best.tolist())


class Matrices:
    """Token vectors by text; above `limit` bytes the least recently used are dropped."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[str, TokenVectors] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, text: str) -> TokenVectors | None:
        """The vectors of a text, None if they were dropped."""
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
            return self._kept.get(text)

    def put(self, text: str, vectors: TokenVectors) -> None:
        """Keep the vectors of a text, unless they alone exceed the limit."""
        with self._lock:
            if text in self._kept or vectors.nbytes > self.limit:
                return
            self._kept[text] = vectors
            self.size += vectors.nbytes
            while self.size > self.limit:
                self.size -= self._kept.popitem(last=False)[1].nbytes


@lru_cache(maxsize=2)
def _matrices(fingerprint: str, megabytes: int) -> Matrices:
    return Matrices(megabytes * 2**20)
