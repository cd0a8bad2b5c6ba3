"""The worth of the sentences of passages for a question: its lexical evidence for an answer."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.text.passage_statements import Statement, statements
from rag.core.text.stems import PART, Stems
from rag.core.types import Chunk

EXACT = 2.0
"""The factor for a term with a digit: ids, dates and amounts are rarely shared by accident."""
NAME = 1.5
"""The factor for a term with a capital in the question, other than the first letter of the question."""
PLACE = 0.1
"""The worth of a sentence of context n is divided by 1 + PLACE (n - 1)."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that may be quoted, with the stems in it and in its headings; `words` is its length.

    `above` are its headings and the header of its table. `edition` has the stems that identify its edition, if its headings
    mark it as superseded.
    """

    text: str
    terms: frozenset[str]
    under: frozenset[str]
    words: int
    edition: frozenset[str] = frozenset()
    above: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence of context `number` with its worth, and the weighted share of the question's stems in it.

    `late` marks a sentence of a superseded edition that the question does not name, `above` is that of the quote.
    """

    worth: float
    number: int
    place: int
    text: str
    carried: float
    late: bool = False
    above: str = ""


class SentenceWorth:
    """Scores sentences by the inverse frequencies, over all sentences, of the stems that each shares with the question.

    After Robertson & Spärck Jones 1976. Stems in the headings of a sentence only count `headings` times; the sum is divided by
    BM25's length norm of strength `b`. A sentence with one of the words `superseded` in its headings is worth
    `superseded_worth` times as much and is `late`, unless the question has that word, or a number in these headings that
    current editions do not have. One object serves one batch: a chunk that several questions found is cut and stemmed once.
    """

    def __init__(
        self,
        language: str = "english",
        superseded: Sequence[str] = (),
        headings: float = 0.3,
        b: float = 0.5,
        superseded_worth: float = 0.5,
    ) -> None:
        self._language, self._stems = language, Stems(language)
        words = "|".join(map(re.escape, superseded))
        self._superseded = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if words else None
        self._headings, self._b, self._superseded_worth = headings, b, superseded_worth
        self._known: dict[Chunk, list[Quote]] = {}

    def ranked(self, question: str, contexts: Sequence[Chunk]) -> list[Scored]:
        """The sentences of the contexts by their worth, each text once."""
        ordered = sorted(self._scored(question, contexts), key=lambda quote: (-quote.worth, quote.place))
        distinct = {quote.text: quote for quote in reversed(ordered)}  # overlapping chunks say things twice: the best stays
        return [quote for quote in ordered if distinct[quote.text] is quote]

    def _scored(self, question: str, contexts: Sequence[Chunk]) -> list[Scored]:
        read = [(number, quote) for number, chunk in enumerate(contexts, 1) for quote in self._quotes(chunk)]
        weights = self._weights(question, [quote.terms for _, quote in read])
        total = sum(weights.values())
        valid = frozenset[str]().union(*(quote.under for _, quote in read if not quote.edition))
        mean = sum(quote.words for _, quote in read) / max(len(read), 1) or 1.0
        scored = []
        for place, (number, quote) in enumerate(read):
            own = sum(weight for stem, weight in weights.items() if stem in quote.terms)
            above = sum(weight for stem, weight in weights.items() if stem in quote.under and stem not in quote.terms)
            norm = (1 - self._b + self._b * quote.words / mean) * (1 + PLACE * (number - 1))
            late = bool(quote.edition) and not (quote.edition - valid) & weights.keys()
            factor = self._superseded_worth if late else 1
            worth = (own + self._headings * above) / norm * factor if own + above else 0.0
            carried = (own + above) / total if total else 0.0
            scored.append(Scored(worth, number, place, quote.text, carried, late, quote.above))
        return scored

    def _quotes(self, chunk: Chunk) -> list[Quote]:
        if chunk not in self._known:
            self._known[chunk] = [self._quote(statement) for statement in statements(chunk, self._language)]
        return self._known[chunk]

    def _weights(self, question: str, read: Sequence[frozenset[str]]) -> dict[str, float]:
        """The weight of every stem of the question: its inverse frequency in the sentences, higher for names and numbers."""
        frequency = Counter(stem for terms in read for stem in terms)
        weights: dict[str, float] = {}
        terms = self._stems.terms(question)
        for term, stem in zip(terms, self._stems.stems(terms), strict=True):
            rarity = math.log(1 + (len(read) - frequency[stem] + 0.5) / (frequency[stem] + 0.5))
            weights[stem] = max(weights.get(stem, 0.0), rarity * _emphasis(term, question))
        return weights

    def _quote(self, statement: Statement) -> Quote:
        terms, under = self._stems.of(statement.text), self._stems.of(f"{statement.path} {statement.header}")
        above = " > ".join(filter(None, (statement.path, statement.header)))
        return Quote(statement.text, terms, under, len(PART.findall(statement.text)), self._edition(statement.path), above)

    def _edition(self, path: str) -> frozenset[str]:
        """The words of headings that mark an edition as superseded, and their numbers; empty for a current one."""
        words = self._superseded.findall(path) if self._superseded else []
        numbers = (term for term in self._stems.terms(path) if any(map(str.isdigit, term)))
        return frozenset(self._stems.stems([*words, *numbers])) if words else frozenset()


def _emphasis(term: str, question: str) -> float:
    if any(character.isdigit() for character in term):
        return EXACT
    named = term[1:] if question.startswith(term) else term
    return NAME if named != named.lower() else 1.0
