"""Whether what a reply puts between quotation marks was read."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.checks.failure_action import action_of, shortened, texts_of
from rag.core.errors import ConfigError
from rag.core.records import Finding, Reply, Request
from rag.core.text.citations import unmarked

QUOTED = re.compile(
    '(?<!\\w)"([^"\n]+)"|“((?:[^“”\n]|“[^“”\n]*”)+)”|„([^„“”\n]+)[“”]|«([^«»\n]+)»|»([^«»\n]+)«'
    "|(?<!\\w)‘((?:[^‘’\n]|’\\w)+)’(?!\\w)"
)
"""A mark behind a digit is one of inches; one before a letter an apostrophe."""
LEFT_OUT = re.compile(r"\[?(?:…|\.{3,}|(?:\. ){2,}\.)\]?|\[\w[^\[\]\n]+\]")
"""An ellipsis, in brackets or not, or the writer's own words in them: what stands around it is in one context, in its order."""
CHANGED = re.compile(r"\[(\w)\]")
"""A letter that the writer changed."""
MARKUP = re.compile(r"(?<=\])\([^()\s]*\)|</?[A-Za-z][^<>\n]{0,200}>|[‘’'“”„«»\"*_`|\[\]\u00ad\u200b]")
"""Where links lead, tags, emphasis, brackets and quotation marks: none of them is read."""
DASH = re.compile(r" ?[-‐‑–—] ?")
EDGES = " \t.,;:!?()-"


@dataclass(frozen=True)
class QuotesCheck:
    """Fails where a quoted string of at least `words` words stands in no context.

    Case, white space, emphasis, the kind of quotation mark and dash, and punctuation at the edges make no difference, and
    neither do citations within. With `question`, the person's own words, now and in earlier turns, may be quoted too. Straight
    single quotation marks are no quotation: they cannot be told from apostrophes.
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
                f"no context says {shortened(match[0])}",
                action_of("quotes", self.on_failure, self.advice),
                start=match.start(),
                end=match.end(),
                advice=self.advice,
            )
            for match in QUOTED.finditer(unmarked(reply))
            if len(match[0].split()) >= self.words and not _stands(match[0][1:-1], read)
        ]


def _stands(quotation: str, read: Sequence[str]) -> bool:
    pieces = [piece for part in LEFT_OUT.split(CHANGED.sub(r"\1", quotation)) if (piece := _plain(part).strip(EDGES))]
    return any(_in_order(pieces, text) for text in read)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    place = 0
    for piece in pieces:
        place = _place(piece, text, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _place(piece: str, text: str, place: int) -> int:
    """Where a piece stands in a text, not within words of it, from a place on; -1 where it does not."""
    while (place := text.find(piece, place)) >= 0:
        before, after = text[place - 1 : place], text[place + len(piece) : place + len(piece) + 1]
        if not (_joined(before, piece[0]) or _joined(piece[-1], after)):
            return place
        place += 1
    return -1


def _joined(one: str, other: str) -> bool:
    """Whether two characters are of one word; scripts without spaces have none."""
    return (one + other).isascii() and one.isalnum() and other.isalnum()


def _plain(text: str) -> str:
    bare = MARKUP.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return DASH.sub("-", " ".join(bare.split()))
