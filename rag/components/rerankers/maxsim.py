"""Late interaction: a question and a passage are compared token by token.

Khattab & Zaharia 2020, "ColBERT". The token vectors are those of an ordinary sentence model, which was not trained for
this; the mean over the query's tokens instead of ColBERT's sum keeps scores of short and long questions on one scale.
All token vectors are rounded to int8, whether a passage was encoded before any question or is encoded now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.checks import check_number
from rag.core.encoded_passages import TokenEncoder, TokenRows, rounded
from rag.core.errors import ConfigError
from rag.core.memo import Recent
from rag.core.numbers import mean
from rag.core.roles import Windowed, fingerprint


@dataclass(frozen=True)
class MaxSimReranker:
    """Mean over the tokens of the query of the greatest cosine with a token of the passage: a number in [-1, 1].

    A query or a passage without tokens scores 0. Token vectors of passages that were not encoded before stay in memory up to
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
        cache = _cache(fingerprint(self.encoder), self.cache_mb)
        return [self._scores(query, texts, cache) for query, texts in zip(queries, passages, strict=True)]

    def _scores(self, query: str, texts: Sequence[str], cache: Recent[TokenRows]) -> list[float]:
        if not texts:
            return []
        (tokens,) = self._encoded([query])
        known = getattr(self.encoder, "known", {})
        new = [text for text in texts if text not in known]
        made = dict(zip(new, cache(new, self._encoded), strict=True))
        return [late_interaction(tokens, made[text] if text in made else known[text]) for text in texts]

    def _encoded(self, texts: Sequence[str]) -> list[TokenRows]:
        return [rounded(vectors) for vectors in self.encoder.embed_tokens(texts)]


def late_interaction(query: TokenRows, passage: TokenRows) -> float:
    """Mean over query rows of the greatest cosine with a passage row; 0 if either has no row."""
    if not len(query) or not len(passage):
        return 0.0
    asked, read = query.astype(np.float32), passage.astype(np.float32)
    cosines = (read @ asked.T) / _lengths(read)[:, None]
    return mean((cosines.max(axis=0) / _lengths(asked)).tolist())


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The lengths of rows of whole numbers; 1 for a row of zeros."""
    lengths: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", rows, rows)).clip(1)
    return lengths


@lru_cache(maxsize=2)
def _cache(fingerprint: str, megabytes: int) -> Recent[TokenRows]:
    return Recent(megabytes * 2**20, lambda rows: rows.nbytes)
