"""Vectors without a model: words hashed into signed buckets. The baseline that every model has to beat.

Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning".
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from rag.core.checks import check_whole
from rag.core.types import Vectors

MOST = 2**20
"""The most dimensions: every text takes memory for all of them."""
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class HashingEmbedder:
    """Runs of 1 to `ngrams` words, without case, each counted as 1 + ln(count) into one of `dimensions` buckets.

    A hash decides bucket and sign; blake2b, because Python's own hash differs from process to process.
    """

    dimensions: int = 512
    ngrams: int = 2

    def __post_init__(self) -> None:
        check_whole("embedder.dimensions", self.dimensions, 2, MOST)
        check_whole("embedder.ngrams", self.ngrams, 1, 8)

    def window(self) -> None:
        """None: it reads all words."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every word."""
        return [match.span() for match in WORD.finditer(text)]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions), not normalised."""
        return np.array([self._vector(text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed_documents`."""
        return self.embed_documents(texts)

    def _vector(self, text: str) -> Vectors:
        counts = Counter(self._features(text))
        # A text without words has the empty feature: a vector of zeros has no direction, and cosines with it would be NaN.
        buckets = [_bucket(feature, self.dimensions) for feature in counts or [""]]
        weights = 1.0 + np.log(list(counts.values()) or [1])
        signs = np.array([sign for _, sign in buckets])
        summed = np.bincount([place for place, _ in buckets], signs * weights, self.dimensions).astype(np.float32)
        return summed if summed.any() else self._vector("")

    def _features(self, text: str) -> Iterator[str]:
        words = WORD.findall(text.casefold())
        for length in range(1, self.ngrams + 1):
            yield from (" ".join(words[start : start + length]) for start in range(len(words) - length + 1))


@lru_cache(maxsize=1 << 17)
def _bucket(feature: str, dimensions: int) -> tuple[int, int]:
    number = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return (number >> 1) % dimensions, 1 - 2 * (number & 1)
