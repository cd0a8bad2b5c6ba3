"""The sentences of the contexts with the rarity of their words, with which claims are compared."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag.core.assessments import QuotedPassage
from rag.core.memo import Recent
from rag.core.text.sentences import blocks, sentences
from rag.core.text.values.words import Word, words
from rag.core.types import Vectors

WINDOW = 3
"""The number of sentences in a passage."""
NEAR = 3
"""The greatest distance of two near words, in words with a meaning."""


TokenVectors = Recent[NDArray[np.float32]]
"""Token vectors of sentences, each of shape (tokens, dimensions)."""


class TokenEncoder(Protocol):
    """An embedder with token vectors."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row per question."""
        ...

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One array of shape (tokens, dimensions) per text, rows of length 1, without special tokens."""
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters [start, end) of every token."""
        ...

    def fingerprint(self) -> str:
        """The model behind the vectors."""
        ...


@dataclass(frozen=True)
class Sentence:
    """A sentence of a context with its words."""

    where: QuotedPassage
    text: str
    words: tuple[Word, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words, and the other readings of its numbers."""
        return frozenset(stem for word in self.words for stem in (word.stem, *word.also))


class Passages:
    """All sentences of some contexts, in order, with the rarity of their stems."""

    def __init__(self, contexts: Sequence[str], recent: TokenVectors | None = None) -> None:
        self.sentences = [sentence for number, text in enumerate(contexts, 1) for sentence in _sentences(number, text)]
        self.stems = frozenset[str]().union(*(sentence.stems for sentence in self.sentences))
        self._recent = recent or Recent()
        self._frequency = Counter(stem for sentence in self.sentences for stem in sentence.stems)

    def rarity(self, stem: str) -> float:
        """The inverse frequency of a stem over the sentences (Robertson & Spärck Jones 1976, as in Lucene): above 0."""
        held = self._frequency[stem]
        return math.log(1 + (len(self.sentences) - held + 0.5) / (held + 0.5))

    def tokens(self, encoder: TokenEncoder, read: Sequence[int]) -> list[NDArray[np.float32]]:
        """The token vectors of sentences; recent ones are reused."""
        return self._recent([self.sentences[number].text for number in read], encoder.embed_tokens)

    def joined(self, first: int, last: int) -> bool:
        """True if two sentences are in the same context."""
        return self.sentences[first].where.context == self.sentences[last].where.context

    def span(self, first: int, width: int) -> QuotedPassage:
        """The passage of `width` sentences from `first` on, cut at the end of its context."""
        last = max(n for n in range(first, min(first + width, len(self.sentences))) if self.joined(first, n))
        begin, end = self.sentences[first].where, self.sentences[last].where
        return QuotedPassage(begin.context, begin.start, end.end)

    def recalls(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """The share of the total weight of stems in each sentence, each pair and each three in a row.

        Shape (WINDOW, sentences): entry [w, i] is for the sentences i to i + w, cut at the end of the context.
        """
        total = sum(weights.values()) or 1.0
        shares = np.zeros((WINDOW, len(self.sentences)))
        for first in range(len(self.sentences)):
            held = set[str]()
            for width in range(WINDOW):
                last = first + width
                if last < len(self.sentences) and self.joined(first, last):
                    held |= self.sentences[last].stems & weights.keys()
                shares[width, first] = math.fsum(weights[stem] for stem in held) / total
        return np.minimum(shares, 1.0)

    def quoting(self, claimed: Sequence[Word]) -> QuotedPassage | None:
        """The passage with all words of a claim in a row, punctuation ignored; None without one."""
        wanted = [word.stem for word in claimed]
        for number, row in self._rows.items() if wanted else ():
            stems = [word.stem for _, word in row]
            for first in (place for place, stem in enumerate(stems) if stem == wanted[0]):
                if stems[first : first + len(wanted)] == wanted:
                    begin, end = row[first], row[first + len(wanted) - 1]
                    return QuotedPassage(number, begin[0] + begin[1].start, end[0] + end[1].end)
        return None

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of stems that follow each other in a context, words without meaning left out."""
        return frozenset(pair for row in self._rows.values() for pair in following([word for _, word in row]))

    @cached_property
    def near(self) -> frozenset[tuple[str, str]]:
        """The ordered pairs of stems in a context with a distance of at most NEAR words with a meaning."""
        steps = range(1, NEAR + 1)
        return frozenset(pair for row in self.rows for step in steps for pair in zip(row, row[step:], strict=False))

    @cached_property
    def between(self) -> Mapping[tuple[str, str], list[tuple[Sequence[str], int]]]:
        """By two stems with one word between them: the row of a context, and the place of that word."""
        places: dict[tuple[str, str], list[tuple[Sequence[str], int]]] = {}
        for row in self.rows:
            for place, pair in enumerate(zip(row, row[2:], strict=False), 1):
                places.setdefault(pair, []).append((row, place))
        return places

    @cached_property
    def rows(self) -> list[list[str]]:
        """The stems of the words with a meaning of each context, in order."""
        return [[word.stem for _, word in row if word.meaning] for row in self._rows.values()]

    @cached_property
    def _rows(self) -> dict[int, list[tuple[int, Word]]]:
        """The words of each context in order, with the offset of their sentence."""
        rows: dict[int, list[tuple[int, Word]]] = {}
        for sentence in self.sentences:
            rows.setdefault(sentence.where.context, []).extend((sentence.where.start, word) for word in sentence.words)
        return rows


def following(claimed: Sequence[Word]) -> list[tuple[str, str]]:
    """The distinct pairs of stems of neighbouring words, words without meaning left out."""
    return list(dict.fromkeys(pairwise(word.stem for word in claimed if word.meaning)))


def _sentences(number: int, text: str) -> list[Sentence]:
    spans = (span for block in blocks(text) for span in sentences(text, block))
    return [Sentence(QuotedPassage(number, start, end), text[start:end], tuple(words(text[start:end]))) for start, end in spans]
