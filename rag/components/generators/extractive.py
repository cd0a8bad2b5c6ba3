"""Answers by quoting: the sentences of the contexts with the best lexical evidence for the question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.text.languages import check_language
from rag.core.text.sentence_worth import Scored, SentenceWorth
from rag.core.types import Reply, Request


@dataclass(frozen=True)
class ExtractiveGenerator:
    """Quotes the best sentences word for word, in their order, each followed by its marker `[n]`; an empty reply abstains.

    The worth of a sentence is that of `rag.core.text.sentence_worth.SentenceWorth`. At most `sentences` are quoted, each worth
    at least `share` of the best; one of a superseded edition that the question does not name comes last. None is quoted if the
    best has less than the share `floor` of the question's weight, or nothing.
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
        worth = self._worth()
        return [_reply(self._best(request, worth)) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        """The reply, sentence by sentence."""
        yield from _pieces(self._best(request, self._worth()))

    def _worth(self) -> SentenceWorth:
        return SentenceWorth(self.language, self.superseded, self.headings, self.b, self.superseded_worth)

    def _best(self, request: Request, worth: SentenceWorth) -> list[Scored]:
        ranked = worth.ranked(request.query.text, request.contexts)
        if not ranked or ranked[0].worth <= 0 or ranked[0].carried < self.floor:
            return []
        worthy = [quote for quote in ranked if quote.worth >= self.share * ranked[0].worth]
        return sorted(worthy[: self.sentences], key=lambda quote: (quote.late, quote.place))


def _reply(quotes: Sequence[Scored]) -> Reply:
    return Reply("".join(_pieces(quotes)), tuple(dict.fromkeys(quote.number for quote in quotes)))


def _pieces(quotes: Sequence[Scored]) -> Iterator[str]:
    """The quotes with their markers, on one line; after a quote without a full stop, such as a table row, a new line begins."""
    for number, quote in enumerate(quotes):
        before = quotes[number - 1].text.rstrip("\"')”’»*_") if number else ""
        gap = "" if not number else " " if before.endswith((".", "!", "?", "…", "。")) else "\n"
        yield f"{gap}{quote.text} [{quote.number}]"
