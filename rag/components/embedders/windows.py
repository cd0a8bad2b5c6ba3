"""One vector for a text of any length: the mean of the vectors of its windows, each of which the model reads completely.

The mean weighs each window by its tokens, as in OpenAI's cookbook, "Embedding texts that are longer than the model's maximum
context length".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.numbers import unit_rows
from rag.core.roles import Embedder, Windowed
from rag.core.types import Vectors


@runtime_checkable
class WindowedEmbedder(Embedder, Windowed, Protocol):
    """An embedder with a window, such as MiniLmEmbedder."""


@dataclass(frozen=True)
class WindowsEmbedder:
    """Cuts a text before words into windows of at most `tokens` tokens; the mean of their unit vectors, itself of length 1.

    `tokens` is None for the window of `embedder`. A text of one window keeps the vector that `embedder` gives it. `scale` is
    the cosine below which a question and a passage are not related, None if it is not known.
    """

    embedder: WindowedEmbedder
    tokens: int | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if self.tokens is not None:
            check_whole("embedder.tokens", self.tokens, 1)
        if self.scale is not None:
            check_number("embedder.scale", self.scale, -1, 1, "a cosine, or null")

    def unrelated(self) -> float | None:
        """`scale`."""
        return self.scale

    def window(self) -> None:
        """None: the windows together hold the whole text."""

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The characters [start, end) of every token of the model."""
        return self.embedder.token_offsets(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions of the model)."""
        return self._embed(self.embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions of the model), from the model's vectors of questions."""
        return self._embed(self.embedder.embed_queries, texts)

    def _embed(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        limit = self._limit()
        windows = [list(self._windows(text, limit)) for text in texts]
        vectors = embed([text for row in windows for text, _ in row])
        ends = list(accumulate(map(len, windows), initial=0))
        pooled = [_pooled(vectors[start:end], row) for (start, end), row in zip(pairwise(ends), windows, strict=True)]
        return np.array(pooled, np.float32).reshape(len(texts), -1) if texts else vectors

    def _limit(self) -> int | None:
        """The tokens of one window; ConfigError if the model reads fewer."""
        reads = self.embedder.window()
        if self.tokens and reads and self.tokens > reads:
            raise ConfigError("embedder.tokens", f"{self.tokens} are more than the {reads} that the model reads", f"{reads}")
        return self.tokens or reads

    def _windows(self, text: str, limit: int | None) -> Iterator[tuple[str, int]]:
        """The windows of a text, each with its number of tokens."""
        offsets = self.embedder.token_offsets(text)
        cuts = [0, *_cuts(offsets, limit), len(text)] if limit and len(offsets) > limit else []
        if len(cuts) <= 2:
            yield text, len(offsets)
            return
        for start, end in pairwise(cuts):
            # A window that begins inside a word may have more tokens than its part of the text had.
            yield from self._windows(text[start:end], limit)


def _cuts(offsets: Sequence[tuple[int, int]], limit: int) -> Iterator[int]:
    """The starts of windows: before the last word that begins inside the previous window, else before a token."""
    first = 0
    while len(offsets) - first > limit:
        places = range(first + limit, first, -1)
        words = (place for place in places if offsets[place - 1][1] < offsets[place][0])
        inside = (place for place in places if offsets[first][0] < offsets[place][0] >= offsets[place - 1][1])
        cut = next(words, None) or next(inside, None)
        if cut is None:
            return
        yield offsets[cut][0]
        first = cut


def _pooled(vectors: Vectors, windows: Sequence[tuple[str, int]]) -> Vectors:
    """The vector of a text from those of its windows; a single one is not changed."""
    if len(windows) == 1:
        alone: Vectors = vectors[0]
        return alone
    weights = np.array([[max(count, 1)] for _, count in windows], np.float32)
    mean: Vectors = unit_rows((unit_rows(vectors) * weights).sum(axis=0, keepdims=True))[0]
    return mean
