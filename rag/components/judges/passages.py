"""The sentences of the contexts, and how rare their words are: what a claim is held against."""

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.words import Word, words
from rag.core.assessments import QuotedPassage
from rag.core.records import Vectors
from rag.core.text.sentences import blocks, sentences

WINDOW = 3
"""Sentences in a row that count as one passage."""
NEAR = 3
"""Words with a meaning within which two of them count as near each other."""


class TokenEncoder(Protocol):
    """What a judge needs of an embedder."""

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
        """What it can be searched for."""
        return frozenset(word.stem for word in self.words)


class Known:
    """Token vectors of the sentences that were read last: questions of one corpus find the same passages again and again."""

    def __init__(self, most: int = 4096) -> None:
        self.most = most
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def tokens(self, encoder: TokenEncoder, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One array per text."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
        new = list(dict.fromkeys(text for text in texts if text not in found))
        found |= dict(zip(new, encoder.embed_tokens(new) if new else [], strict=True))
        with self._lock:
            for text in found:
                self._kept[text] = found[text]
                self._kept.move_to_end(text)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return [found[text] for text in texts]


class Passages:
    """All sentences of some contexts, in order, with the rarity of their stems."""

    def __init__(self, contexts: Sequence[str], known: "Known | None" = None) -> None:
        self.sentences = [found for number, text in enumerate(contexts, 1) for found in _sentences(number, text)]
        self.stems = frozenset[str]().union(*(sentence.stems for sentence in self.sentences))
        self._known = known or Known()
        self._frequency = Counter(stem for sentence in self.sentences for stem in sentence.stems)

    def rarity(self, stem: str) -> float:
        """The inverse frequency of a stem over the sentences (Robertson & Spärck Jones 1976, as in Lucene): above 0."""
        held = self._frequency[stem]
        return math.log(1 + (len(self.sentences) - held + 0.5) / (held + 0.5))

    def tokens(self, encoder: TokenEncoder, read: Sequence[int]) -> list[NDArray[np.float32]]:
        """The token vectors of some sentences; each is encoded once, however many claims are held against it."""
        return self._known.tokens(encoder, [self.sentences[number].text for number in read])

    def joined(self, first: int, last: int) -> bool:
        """Whether two sentences stand in one context."""
        return self.sentences[first].where.context == self.sentences[last].where.context

    def span(self, first: int, width: int) -> QuotedPassage:
        """So many sentences from one on, cut at the end of its context."""
        last = max(n for n in range(first, min(first + width, len(self.sentences))) if self.joined(first, n))
        begin, end = self.sentences[first].where, self.sentences[last].where
        return QuotedPassage(begin.context, begin.start, end.end)

    def recalls(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """The share of the weight of some stems that each sentence, each pair and each three in a row hold.

        Shape (WINDOW, sentences): entry [w, i] is that of the sentences from i to i + w, cut at the end of the context.
        """
        total = sum(weights.values()) or 1.0
        found = np.zeros((WINDOW, len(self.sentences)))
        for first in range(len(self.sentences)):
            held = set[str]()
            for width in range(WINDOW):
                last = first + width
                if last < len(self.sentences) and self.joined(first, last):
                    held |= self.sentences[last].stems & weights.keys()
                found[width, first] = math.fsum(weights[stem] for stem in held) / total
        return np.minimum(found, 1.0)

    def quoting(self, said: Sequence[Word]) -> QuotedPassage | None:
        """Where all words of a claim stand in a row, whatever the signs between them; None where they do not."""
        wanted = [word.stem for word in said]
        for number, row in self._rows.items() if wanted else ():
            stems = [word.stem for _, word in row]
            for first in (place for place, stem in enumerate(stems) if stem == wanted[0]):
                if stems[first : first + len(wanted)] == wanted:
                    begin, end = row[first], row[first + len(wanted) - 1]
                    return QuotedPassage(number, begin[0] + begin[1].start, end[0] + end[1].end)
        return None

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The stems of words with a meaning that follow each other in a context, whatever words without meaning lie between."""
        return frozenset(pair for row in self._rows.values() for pair in following([word for _, word in row]))

    @cached_property
    def near(self) -> frozenset[tuple[str, str]]:
        """The stems of two words with a meaning of a context, in order, the second at most NEAR words behind the first."""
        steps = range(1, NEAR + 1)
        return frozenset(pair for row in self.rows for step in steps for pair in zip(row, row[step:], strict=False))

    @cached_property
    def between(self) -> Mapping[tuple[str, str], list[tuple[Sequence[str], int]]]:
        """By two stems with one word between them: the row of a context, and where in it that word stands."""
        found: dict[tuple[str, str], list[tuple[Sequence[str], int]]] = {}
        for row in self.rows:
            for place, pair in enumerate(zip(row, row[2:], strict=False), 1):
                found.setdefault(pair, []).append((row, place))
        return found

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


def following(said: Sequence[Word]) -> list[tuple[str, str]]:
    """The stems of every two words with a meaning that follow each other, each pair once."""
    return list(dict.fromkeys(pairwise(word.stem for word in said if word.meaning)))


def _sentences(number: int, text: str) -> list[Sentence]:
    spans = (span for block in blocks(text) for span in sentences(text, block))
    return [Sentence(QuotedPassage(number, start, end), text[start:end], tuple(words(text[start:end]))) for start, end in spans]
