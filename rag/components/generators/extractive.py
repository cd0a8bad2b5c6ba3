"""Answers by quoting: the sentences of the contexts with the best lexical evidence for the question."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.components.generators.statements import Statement, statements
from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.records import Chunk, Reply, Request
from rag.core.text.languages import check_language
from rag.core.text.stems import PART, Stems

EXACT = 2.0
"""The factor for a term with a digit: ids, dates and amounts are rarely shared by accident."""
NAME = 1.5
"""The factor for a term with a capital in the question, other than the first letter of the question."""
PLACE = 0.1
"""The worth of a sentence of context n is divided by 1 + PLACE (n - 1)."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that may be quoted, with the stems in it and in its headings; `words` is its length.

    `edition` has the stems that identify its edition, if its headings mark it as superseded.
    """

    text: str
    terms: frozenset[str]
    under: frozenset[str]
    words: int
    edition: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence of context `number` with its worth, and the weighted share of the question's stems in it.

    `late` marks a sentence of a superseded edition that the question does not name.
    """

    worth: float
    number: int
    place: int
    text: str
    carried: float
    late: bool = False


@dataclass(frozen=True)
class ExtractiveGenerator:
    """Quotes the best sentences word for word, in their order, each followed by its marker `[n]`; an empty reply abstains.

    The worth of a sentence is the sum of the inverse frequencies, over all sentences of the contexts, of the stems that it
    shares with the question (Robertson & Spärck Jones 1976), plus `headings` times those in its headings only, divided by
    BM25's length norm of strength `b`. At most `sentences` are quoted, each worth at least `share` of the best. None is quoted
    if the best has less than the share `floor` of the question's weight, or nothing.

    A sentence with one of the words `superseded` in its headings is worth `superseded_worth` times as much and comes last,
    unless the question has that word, or a number in these headings that current editions do not have.
    """

    sentences: int = 2
    share: float = 0.8
    floor: float = 0.0
    headings: float = 0.3
    b: float = 0.5
    language: str = "english"
    superseded: Sequence[str] = ()
    superseded_worth: float = 0.5
    languages: Sequence[str] = ("english",)

    def __post_init__(self) -> None:
        check_whole("generator.sentences", self.sentences, 1)
        for name in ("share", "floor", "headings", "b", "superseded_worth"):
            check_number(f"generator.{name}", getattr(self, name), 0, 1)
        if isinstance(self.superseded, str) or not all(isinstance(word, str) and word.strip() for word in self.superseded):
            raise ConfigError("generator.superseded", f"is {self.superseded!r}", "a list of words, [] for none")
        check_language("generator.language", self.language)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, without tokens and cost."""
        reader = _Reader(self.language, self.superseded)
        return [_reply(self._best(request, reader)) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """The reply, sentence by sentence."""
        yield from _pieces(self._best(request, _Reader(self.language, self.superseded)))

    def _best(self, request: Request, reader: "_Reader") -> list[Scored]:
        ranked = sorted(self._score(request, reader), key=lambda quote: (-quote.worth, quote.place))
        if not ranked or ranked[0].worth <= 0 or ranked[0].carried < self.floor:
            return []
        distinct = {quote.text: quote for quote in reversed(ranked)}  # overlapping chunks say things twice: the best stays
        worthy = [quote for quote in ranked if distinct[quote.text] is quote and quote.worth >= self.share * ranked[0].worth]
        return sorted(worthy[: self.sentences], key=lambda quote: (quote.late, quote.place))

    def _score(self, request: Request, reader: "_Reader") -> list[Scored]:
        read = [(number, quote) for number, chunk in enumerate(request.contexts, 1) for quote in reader.quotes(chunk)]
        weights = reader.weights(request.query.text, [quote.terms for _, quote in read])
        total = sum(weights.values())
        valid = frozenset[str]().union(*(quote.under for _, quote in read if not quote.edition))
        mean = sum(quote.words for _, quote in read) / max(len(read), 1) or 1.0
        scored = []
        for place, (number, quote) in enumerate(read):
            own, above = _shared(weights, quote)
            norm = (1 - self.b + self.b * quote.words / mean) * (1 + PLACE * (number - 1))
            late = bool(quote.edition) and not (quote.edition - valid) & weights.keys()
            worth = (own + self.headings * above) / norm * (self.superseded_worth if late else 1) if own + above else 0.0
            scored.append(Scored(worth, number, place, quote.text, (own + above) / total if total else 0.0, late))
        return scored


def _shared(weights: Mapping[str, float], quote: Quote) -> tuple[float, float]:
    """The weight of the question's stems in a sentence, and of those in its headings only."""
    own = sum(weight for stem, weight in weights.items() if stem in quote.terms)
    return own, sum(weight for stem, weight in weights.items() if stem in quote.under and stem not in quote.terms)


def _reply(quotes: Sequence[Scored]) -> Reply:
    return Reply("".join(_pieces(quotes)), tuple(dict.fromkeys(quote.number for quote in quotes)))


def _pieces(quotes: Sequence[Scored]) -> Iterator[str]:
    """The quotes with their markers, on one line; after a quote without a full stop, such as a table row, a new line begins."""
    for number, quote in enumerate(quotes):
        before = quotes[number - 1].text.rstrip("\"')”’»*_") if number else ""
        gap = "" if not number else " " if before.endswith((".", "!", "?", "…", "。")) else "\n"
        yield f"{gap}{quote.text} [{quote.number}]"


class _Reader:
    """Reads the texts of one batch: a chunk that several questions found is cut and stemmed once."""

    def __init__(self, language: str, superseded: Sequence[str]) -> None:
        self._language, self._stems = language, Stems(language)
        words = "|".join(map(re.escape, superseded))
        self._superseded = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if words else None
        self._known: dict[Chunk, list[Quote]] = {}

    def quotes(self, chunk: Chunk) -> list[Quote]:
        if chunk not in self._known:
            self._known[chunk] = [self._quote(statement) for statement in statements(chunk, self._language)]
        return self._known[chunk]

    def weights(self, question: str, read: Sequence[frozenset[str]]) -> dict[str, float]:
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
        return Quote(statement.text, terms, under, len(PART.findall(statement.text)), self._edition(statement.path))

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
