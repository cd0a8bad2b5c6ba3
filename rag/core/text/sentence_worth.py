"""The worth of the sentences of passages for a question: its lexical evidence for an answer."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.core.text.passage_statements import Statement, statements
from rag.core.text.stems import Stems
from rag.core.types import Chunk

EXACT = 2.0
"""The factor for a term with a digit: ids, dates and amounts are rarely shared by accident."""
NAME = 1.5
"""The factor for a term with a capital in the question, other than the first letter of the question."""
EARLIER = 0.4
"""The factor for a term of the question before this one in a conversation."""
ASKS = re.compile(r".*[?:][\"'”’)*_ ]*")
"""A question, or a line that announces others: it belongs to the sentence behind it."""
NUMBER = r"\d+(?:[.,:]\d+)*"
AMOUNT = re.compile(
    r"(?:\b(?:(?P<low>more than|over|above|at least|from)|(?P<high>up to|to|no more than|under|below|less than|at most|within))"
    r"\s{1,3})?(?P<sign>[£$€])?\b(?P<number>\d{1,12}(?:,\d{3})*(?:\.\d{1,9})?)(?:\s?(?!to\b|and\b|or\b)(?P<unit>%|[^\W\d_]+))?",
    re.IGNORECASE,
)
"""A number with its unit, and the words that make it the lower or the upper end of a range."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that may be quoted, with the stems in it and in what is above it.

    `edition` has the stems that identify its edition, if its headings mark it as superseded.
    """

    statement: Statement
    terms: tuple[str, ...]
    under: frozenset[str]
    edition: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement of context `number` with its worth and its `measures` by name.

    `late` marks a sentence of an older edition that the question does not name.
    """

    worth: float
    number: int
    place: int
    statement: Statement
    measures: Mapping[str, float]
    late: bool


class SentenceWorth:
    """Scores sentences by the inverse frequencies, over all sentences, of the stems that each shares with the question.

    After Robertson & Spärck Jones 1976. The worth is the exponential of the sum of a sentence's measures times `weights`: the
    share of the question's weight that is in it (`own`), in headings and headers only (`above`), and in its `passage`; that of
    the question's `pairs` of neighbours; 1 / the number of its passage (`first`); whether it is a `row`; and `fit`, 1 if it
    has a range with an amount of the question, -1 if it has only others. If a question with words of `asks` wants a
    number, a sentence without a digit or a word of `holds` has no worth. A sentence with one of the words `superseded` in its
    headings is worth `superseded_worth` times as much and is `late`, unless the question has that word, or a number in these
    headings that current editions do not have. One object serves one batch: a chunk that several questions found is cut and
    stemmed once.
    """

    def __init__(
        self,
        language: str,
        superseded: Sequence[str],
        weights: Mapping[str, float],
        superseded_worth: float = 0.05,
        asks: Sequence[str] = (),
        holds: Sequence[str] = (),
    ) -> None:
        self._language, self._stems = language, Stems(language)
        self._superseded, self._asks, self._holds = _pattern(superseded), _pattern(asks), _pattern(holds, f"{NUMBER}|")
        self._by, self._superseded_worth = weights, superseded_worth
        self._known: dict[Chunk, list[Quote]] = {}

    def ranked(self, question: str, contexts: Sequence[Chunk], earlier: str = "") -> list[Scored]:
        """The sentences of the contexts by their worth, each text once; `earlier` is the question before this one."""
        ordered = sorted(self._scored(question, contexts, earlier), key=lambda quote: (-quote.worth, quote.place))
        # Overlapping chunks say things twice: the best stays.
        distinct = {quote.statement.text: quote for quote in reversed(ordered)}
        return [quote for quote in ordered if distinct[quote.statement.text] is quote]

    def _scored(self, question: str, contexts: Sequence[Chunk], earlier: str) -> list[Scored]:
        read = [(number, quote) for number, chunk in enumerate(contexts, 1) for quote in self._quotes(chunk)]
        weights = self._weights(question, earlier, [quote.terms for _, quote in read])
        total = sum(weights.values()) or 1.0
        pairs, own = set(pairwise(weights)), self._stems.of(question)
        known = set(self._holds.findall(question.lower())) if self._asks.search(question) else None
        amounts = [each for each in _amounts(question) if each[0]]
        whole = [self._stems.of(chunk.text) for chunk in contexts]
        valid = frozenset[str]().union(*(quote.under for _, quote in read if not quote.edition))
        scored = []
        for place, (number, quote) in enumerate(read):
            terms, text = frozenset(quote.terms), quote.statement.shown
            parts = {"own": terms, "above": quote.under - terms, "passage": whole[number - 1]}
            held = {name: sum(weights[each] for each in weights if each in part) / total for name, part in parts.items()}
            measures = held | {
                "pairs": len(pairs & set(pairwise(quote.terms))) / (len(pairs) or 1),
                "first": 1 / number,
                "row": float(bool(quote.statement.header)),
                "fit": _fit(amounts, text) if amounts else 0.0,
            }
            shares = not (own or weights.keys()).isdisjoint(terms | quote.under)
            answers = shares and (known is None or any(found not in known for found in self._holds.findall(text.lower())))
            late = bool(quote.edition) and not (quote.edition - valid) & weights.keys()
            worth = math.exp(sum(self._by.get(name, 0.0) * measures[name] for name in measures))
            worth *= (self._superseded_worth if late else 1) * answers
            scored.append(Scored(worth, number, place, quote.statement, measures, late))
        return scored

    def _quotes(self, chunk: Chunk) -> list[Quote]:
        if chunk not in self._known:
            self._known[chunk] = [self._quote(one) for one in statements(chunk, self._language) if not ASKS.fullmatch(one.text)]
        return self._known[chunk]

    def _weights(self, question: str, earlier: str, read: Sequence[Sequence[str]]) -> dict[str, float]:
        """The weight of every stem of the question: its inverse frequency in the sentences, higher for names and numbers."""
        frequency = Counter(stem for terms in read for stem in set(terms))
        weights: dict[str, float] = {}
        for text, factor in ((question, 1.0), (earlier, EARLIER)):
            terms = self._stems.terms(text)
            for term, stem in zip(terms, self._stems.stems(terms), strict=True):
                rarity = math.log(1 + (len(read) - frequency[stem] + 0.5) / (frequency[stem] + 0.5))
                weights[stem] = max(weights.get(stem, 0.0), rarity * factor * _emphasis(term, text))
        return weights

    def _quote(self, statement: Statement) -> Quote:
        terms = tuple(self._stems.stems(self._stems.terms(statement.text)))
        under = self._stems.of(f"{statement.path} {statement.header} {statement.caption}")
        return Quote(statement, terms, under, self._edition(statement.path))

    def _edition(self, path: str) -> frozenset[str]:
        """The words of headings that mark an edition as superseded, and their numbers; empty for a current one."""
        words = self._superseded.findall(path)
        numbers = (term for term in self._stems.terms(path) if any(map(str.isdigit, term)))
        return frozenset(self._stems.stems([*words, *numbers])) if words else frozenset()


def _pattern(words: Sequence[str], before: str = "") -> re.Pattern[str]:
    return re.compile(rf"{before}(?<!\w)(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?!\w)", re.IGNORECASE)


def _amounts(text: str) -> Iterator[tuple[str, float, str | None, str | None]]:
    """The unit and the size of every amount, and the words that make it a lower or an upper end."""
    for match in AMOUNT.finditer(text):
        unit = match["sign"] or (match["unit"] or "").lower().removesuffix("s")
        yield unit, float(match["number"].replace(",", "")), match["low"], match["high"]


def _fit(amounts: Sequence[tuple[str, float, str | None, str | None]], text: str) -> float:
    ends = [each for each in _amounts(text) if each[2] or each[3]]
    fits = [size >= end if low else size <= end for unit, size, *_ in amounts for other, end, low, _ in ends if unit == other]
    return (1.0 if any(fits) else -1.0) if fits else 0.0


def _emphasis(term: str, question: str) -> float:
    if any(character.isdigit() for character in term):
        return EXACT
    named = term[1:] if question.startswith(term) else term
    return NAME if named != named.lower() else 1.0
