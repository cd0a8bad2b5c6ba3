"""The sentences of the contexts with the rarity of their words, with which claims are compared."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag.core.assessments import QuotedPassage
from rag.core.encoded_passages import TokenEncoder
from rag.core.memo import Recent
from rag.core.text.refusals import claims
from rag.core.text.sentences import Piece, blocks, sentences
from rag.core.text.values.words import Word, words

WINDOW = 3
"""The number of sentences in a passage."""
NEAR = 3
"""The greatest distance of two near words, in words with a meaning."""


TokenVectors = Recent[NDArray[np.float32]]
"""Token vectors of sentences, each of shape (tokens, dimensions)."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a context with its words."""

    where: QuotedPassage
    text: str
    words: tuple[Word, ...]
    stems: frozenset[str]
    """The stems of its words, and the other readings of its numbers."""


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
        own = [sentence.stems & weights.keys() for sentence in self.sentences]
        for first in range(len(own)):
            held = set[str]()
            for width in range(WINDOW):
                last = first + width
                if last < len(own) and own[last] and self.joined(first, last):
                    held |= own[last]
                shares[width, first] = math.fsum(weights[stem] for stem in held) / total if held else 0.0
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

    def near(self, first: str, second: str, most: int = NEAR) -> bool:
        """True if a context has the stem `second` at most `most` words with a meaning after `first`."""
        return any(second in row[place + 1 : place + 1 + most] for row, place in self.places.get(first, ()))

    def between(self, first: str, second: str) -> Iterator[tuple[Sequence[str], int]]:
        """The row and the place of each word with a meaning that stands alone between two stems."""
        found = self.places.get(first, ())
        return ((row, place + 1) for row, place in found if row[place + 2 : place + 3] == [second])

    @cached_property
    def places(self) -> Mapping[str, list[tuple[list[str], int]]]:
        """By stem of a word with a meaning: the row of stems of a context, and its places there."""
        places: dict[str, list[tuple[list[str], int]]] = {}
        for held in self._rows.values():
            row = [word.stem for _, word in held if word.meaning]
            for place, stem in enumerate(row):
                places.setdefault(stem, []).append((row, place))
        return places

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
    return [Sentence(QuotedPassage(number, begin, end), text[begin:end], *each) for begin, end, each in _read(text)]


@lru_cache(maxsize=4096)
def _read(text: str) -> list[tuple[int, int, tuple[tuple[Word, ...], frozenset[str]]]]:
    """Start and end of each sentence, its words and their stems. It is kept, because many answers have the same contexts."""
    spans = [span for block in blocks(text) for span in sentences(text, block)]
    return [(start, end, _stemmed(text[start:end])) for start, end in spans]


def _stemmed(text: str) -> tuple[tuple[Word, ...], frozenset[str]]:
    found = tuple(words(text))
    return found, frozenset(stem for word in found for stem in (word.stem, *word.also))


JOINT = re.compile(
    r",\s+|;\s+|\s+(?:and|but|while|when|which|who|where|because|after|before|although|with|as)\s+", re.IGNORECASE
)
"""The end of a clause and the beginning of the next one."""
QUOTATION = re.compile(r"(?<=[\"“«])(?:[^\"“”«»\s]+\s+){3,}[^\"“”«»\s]+(?=[\"”»])")
"""Four or more words between quotation marks."""


def quoting_claims(text: str, abstentions: Sequence[re.Pattern[str]]) -> tuple[list[Piece], bool]:
    """The claims of a text, each followed by its quotations, which are claims too, and whether the text abstains."""
    sentences, abstained = claims(text, abstentions)
    quotations = ((piece, [match.span() for match in QUOTATION.finditer(text, *piece)]) for piece in sentences)
    return [claim for piece, inner in quotations for claim in (piece, *inner)], abstained


def clauses(text: str) -> list[Piece]:
    """A sentence cut at commas and conjunctions: pieces [start, end) that cover the whole sentence."""
    cuts = [0, *(joint.end() for joint in JOINT.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]
