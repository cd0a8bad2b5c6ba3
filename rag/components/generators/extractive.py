"""Answers by quoting: the sentences of the contexts that hold the best lexical evidence for the question."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.components.generators.statements import Statement, statements
from rag.core.errors import ConfigError
from rag.core.records import Chunk, Reply, Request
from rag.core.text.stems import PART, Stems, check_language

EXACT = 2.0
"""What a term with a digit in it weighs: ids, dates and amounts are rarely shared by accident."""
NAME = 1.5
"""What a term weighs that the question writes with a capital, unless it is the first word and has no other."""
PLACE = 0.1
"""A sentence of context n is worth 1 / (1 + PLACE (n - 1)) of what it would be worth in the first."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that may answer, with the stems in it and in its headings; `words` is its length.

    `edition` are the stems that tell its edition from others, where its headings say that it is superseded.
    """

    text: str
    terms: frozenset[str]
    under: frozenset[str]
    words: int
    edition: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence of context `number` with its worth, and the share of the question that it carries, stems weighted.

    `late` says that its headings call it superseded and that the question does not name its edition.
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

    A sentence is worth the inverse frequencies, over all sentences of the contexts, of the stems that it shares with the
    question (Robertson & Spärck Jones 1976), and `headings` times those that only its headings share, divided by BM25's
    length norm of strength `b`. At most `sentences` are quoted, none worth less than `share` of the best, and none at all
    when the best carries less than `floor` of the question's weight, or nothing.

    A sentence whose headings hold one of the words `superseded` is worth `superseded_worth` times as much and stands behind the
    others, unless the question has that word, or a number of these headings that the headings of no other edition have.
    """

    sentences: int = 2
    share: float = 0.8
    floor: float = 0.0
    headings: float = 0.3
    b: float = 0.5
    language: str = "english"
    superseded: Sequence[str] = ()
    superseded_worth: float = 0.5

    def __post_init__(self) -> None:
        if self.sentences < 1:
            raise ConfigError("generator.sentences", f"is {self.sentences}", "quote 1 sentence or more")
        for name in ("share", "floor", "headings", "b", "superseded_worth"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"generator.{name}", f"is {getattr(self, name)}", "give a number from 0 to 1")
        if isinstance(self.superseded, str) or not all(isinstance(word, str) and word.strip() for word in self.superseded):
            raise ConfigError("generator.superseded", f"is {self.superseded!r}", "a list of words, [] for none")
        check_language("generator.language", self.language)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request; no tokens, no cost."""
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
    """The weight of the question's stems in a sentence, and of those that stand in its headings only."""
    own = sum(weight for stem, weight in weights.items() if stem in quote.terms)
    return own, sum(weight for stem, weight in weights.items() if stem in quote.under and stem not in quote.terms)


def _marked(quote: Scored) -> str:
    return f"{quote.text} [{quote.number}]"


def _reply(quotes: Sequence[Scored]) -> Reply:
    return Reply("".join(_pieces(quotes)), tuple(dict.fromkeys(quote.number for quote in quotes)))


def _pieces(quotes: Sequence[Scored]) -> Iterator[str]:
    """The quotes with their markers; behind one that ends like no sentence, as a row of a table does, a new line begins."""
    for number, quote in enumerate(quotes):
        before = quotes[number - 1].text.rstrip("\"')”’»*_") if number else ""
        yield ("" if not number else " " if before.endswith((".", "!", "?", "…", "。")) else "\n") + _marked(quote)


class _Reader:
    """Reads texts for one batch: a chunk that many questions found is cut and stemmed once."""

    def __init__(self, language: str, superseded: Sequence[str]) -> None:
        self._stems = Stems(language)
        words = "|".join(map(re.escape, superseded))
        self._superseded = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if words else None
        self._known: dict[Chunk, list[Quote]] = {}

    def quotes(self, chunk: Chunk) -> list[Quote]:
        if chunk not in self._known:
            self._known[chunk] = [self._quote(said) for said in statements(chunk)]
        return self._known[chunk]

    def weights(self, question: str, read: Sequence[frozenset[str]]) -> dict[str, float]:
        """What every stem of the question weighs: its inverse frequency over what was read, more if it is exact or a name."""
        frequency = Counter(stem for terms in read for stem in terms)
        weights: dict[str, float] = {}
        terms = self._stems.terms(question)
        for term, stem in zip(terms, self._stems.stems(terms), strict=True):
            rarity = math.log(1 + (len(read) - frequency[stem] + 0.5) / (frequency[stem] + 0.5))
            weights[stem] = max(weights.get(stem, 0.0), rarity * _emphasis(term, question))
        return weights

    def _quote(self, said: Statement) -> Quote:
        terms, under = self._stems.of(said.text), self._stems.of(f"{said.path} {said.header}")
        return Quote(said.text, terms, under, len(PART.findall(said.text)), self._edition(said.path))

    def _edition(self, path: str) -> frozenset[str]:
        """The words of headings that say that something is superseded, and their numbers; none where it is not."""
        words = self._superseded.findall(path) if self._superseded else []
        numbers = (term for term in self._stems.terms(path) if any(map(str.isdigit, term)))
        return frozenset(self._stems.stems([*words, *numbers])) if words else frozenset()


def _emphasis(term: str, question: str) -> float:
    if any(character.isdigit() for character in term):
        return EXACT
    named = term[1:] if question.startswith(term) else term
    return NAME if named != named.lower() else 1.0
