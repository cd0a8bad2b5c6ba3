"""Whether what a reply puts between quotation marks was read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.checks.failing import action_of, shown, texts_of
from rag.errors import ConfigError
from rag.records import Finding, Reply, Request

QUOTED = re.compile('"([^"\n]+)"|“([^“”\n]+)”|„([^„“”\n]+)[“”]|«([^«»\n]+)»|»([^«»\n]+)«')
LEFT_OUT = re.compile(r"\[?(?:…|\.{3,}|(?:\. ){2,}\.)\]?")
"""An ellipsis, in brackets or not: the pieces on both sides of it must stand in one context, in their order."""
MARKS = str.maketrans({"–": "-", "—": "-"} | dict.fromkeys("‘’'“”„\"*_`", ""))
"""Kinds of dash are one, quotation marks, apostrophes and emphasis none."""
EDGES = " \t.,;:!?()[]"


@dataclass(frozen=True)
class QuotesCheck:
    """Fails where a quoted string of at least `words` words stands in no context.

    Case, white space, emphasis, the kind of quotation mark and dash, and punctuation at the edges make no difference. With
    `question`, the person's own words, now and in earlier turns, may be quoted too. Single quotation marks are no quotation:
    they cannot be told from apostrophes.
    """

    words: int = 2
    question: bool = True
    on_failure: str = "flag"
    advice: str = ""

    def __post_init__(self) -> None:
        action_of("quotes", self.on_failure, self.advice)
        if self.words < 1:
            raise ConfigError("check.quotes.words", f"is {self.words}", "1 or more")

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """A finding per quotation that was not read."""
        return [self._one(request, reply.text) for request, reply in zip(requests, replies, strict=True)]

    def _one(self, request: Request, reply: str) -> list[Finding]:
        own = [request.query.text, *(turn.text for turn in request.query.history if turn.role == "user")]
        read = [_plain(text) for text in [*texts_of(request.contexts), *(own if self.question else [])]]
        return [
            Finding(
                "quotes",
                f"no context says {shown(match[0])}",
                action_of("quotes", self.on_failure, self.advice),
                start=match.start(),
                end=match.end(),
                advice=self.advice,
            )
            for match in QUOTED.finditer(reply)
            if len(match[0].split()) >= self.words and not _stands(match[0][1:-1], read)
        ]


def _stands(quotation: str, read: Sequence[str]) -> bool:
    pieces = [piece for part in LEFT_OUT.split(quotation) if (piece := _plain(part).strip(EDGES))]
    return any(_in_order(pieces, text) for text in read)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    place = 0
    for piece in pieces:
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _plain(text: str) -> str:
    return " ".join(text.translate(MARKS).casefold().split())
