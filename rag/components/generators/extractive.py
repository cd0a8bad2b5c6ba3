"""Answers by quoting: the sentences of the contexts with the best lexical evidence for the question."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.text.languages import check_language
from rag.core.text.sentence_worth import Scored, SentenceWorth
from rag.core.types import Reply, Request


@dataclass(frozen=True)
class ExtractiveGenerator:
    """Quotes the best sentences word for word, in their order, each followed by its marker `[n]`; an empty reply abstains.

    The worth of a sentence is that of `rag.core.text.sentence_worth.SentenceWorth` with `weights`. At most `sentences` are
    quoted, each worth at least `share` of the best; one of an older edition that the question does not name comes last. A row
    of a table has the names of its columns and the caption. None is quoted if the best has no worth, or if the chance that it
    answers is below `floor`: the logistic function of its measures times `chance`, and a bias.
    """

    sentences: int = 2
    share: float = 0.5
    floor: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    language: str = "english"
    superseded: Sequence[str] = ()
    superseded_worth: float = 0.05
    asks: Sequence[str] = ()
    holds: Sequence[str] = ()
    languages: Sequence[str] = ("english",)

    def __post_init__(self) -> None:
        check_whole("generator.sentences", self.sentences, 1)
        for name in ("share", "floor", "superseded_worth"):
            check_number(f"generator.{name}", getattr(self, name), 0, 1)
        if isinstance(self.superseded, str) or not all(isinstance(word, str) and word.strip() for word in self.superseded):
            raise ConfigError("generator.superseded", f"is {self.superseded!r}", "a list of words, [] for none")
        check_language("generator.language", self.language)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, without tokens and cost."""
        worth = self._worth()
        return [_reply(self._best(request, worth)) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """The reply, sentence by sentence."""
        yield from _pieces(self._best(request, self._worth()))

    def _worth(self) -> SentenceWorth:
        return SentenceWorth(self.language, self.superseded, self.weights, self.superseded_worth, self.asks, self.holds)

    def _best(self, request: Request, worth: SentenceWorth) -> list[Scored]:
        earlier = next((turn.text for turn in reversed(request.query.history) if turn.role == "user"), "")
        ranked = worth.ranked(request.query.text, request.contexts, earlier)
        if not ranked or ranked[0].worth <= 0 or self._chance(ranked[0]) < self.floor:
            return []
        worthy = [quote for quote in ranked if 0 < quote.worth >= self.share * ranked[0].worth]
        return sorted(worthy[: self.sentences], key=lambda quote: (quote.late, quote.place))

    def _chance(self, best: Scored) -> float:
        """The chance that a sentence answers, 1 without `chance`."""
        log_odds = sum(self.chance.get(name, 0.0) * value for name, value in {**best.measures, "bias": 1.0}.items())
        return 1 / (1 + math.exp(-log_odds)) if self.chance else 1.0


def _reply(quotes: Sequence[Scored]) -> Reply:
    return Reply("".join(_pieces(quotes)), tuple(dict.fromkeys(quote.number for quote in quotes)))


def _pieces(quotes: Sequence[Scored]) -> Iterator[str]:
    """The quotes with their markers, on one line; after a quote without a full stop, such as a table row, a new line begins."""
    for number, quote in enumerate(quotes):
        before = quotes[number - 1].statement.shown.rstrip("\"')”’»*_") if number else ""
        gap = "" if not number else " " if before.endswith((".", "!", "?", "…", "。")) else "\n"
        yield f"{gap}{quote.statement.shown} [{quote.number}]"
