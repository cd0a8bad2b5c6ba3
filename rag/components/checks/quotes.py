"""Whether the quotations in a reply are in its contexts."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.components.checks.failure_action import ReplyCheck, shortened, texts_of
from rag.core.checks import check_whole
from rag.core.text.citations import unmarked
from rag.core.types import Finding, Request

QUOTED = re.compile(
    '(?<!\\w)"([^"\n]+)"|“((?:[^“”\n]|“[^“”\n]*”)+)”|„([^„“”\n]+)[“”]|«([^«»\n]+)»|»([^«»\n]+)«'
    "|(?<!\\w)‘((?:[^‘’\n]|’\\w)+)’(?!\\w)"
)
"""Quotations. A double mark after a digit means inches; a single one before a letter is an apostrophe."""
LEFT_OUT = re.compile(r"\[?(?:…|\.{3,}|(?:\. ){2,}\.)\]?|\[\w[^\[\]\n]+\]")
"""An omission: an ellipsis, or words of the writer in brackets. The parts around it must be in one context, in this order."""
CHANGED = re.compile(r"\[(\w)\]")
"""A letter whose case the writer changed."""
MARKUP = re.compile(r"(?<=\])\([^()\s]*\)|</?[A-Za-z][^<>\n]{0,200}>|[‘’'“”„«»\"*_`|\[\]\u00ad\u200b]")
"""Link targets, tags, emphasis, brackets and quotation marks, which are ignored."""
DASH = re.compile(r" ?[-‐‑–—] ?")
EDGES = " \t.,;:!?()-"


@dataclass(frozen=True)
class QuotesCheck(ReplyCheck):
    """Fails for a quotation of at least `words` words that no context contains.

    Ignored are case, white space, emphasis, the kinds of quotation marks and dashes, punctuation at the edges, and citations.
    With `question`, words of the user, now and in earlier turns, may be quoted too. Straight single quotation marks are no
    quotation, because they look like apostrophes.
    """

    name: ClassVar[str] = "quotes"
    words: int = 2
    question: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("check.quotes.words", self.words, 1)

    def failures(self, request: Request, reply: str) -> list[Finding]:
        """One finding per quotation that no context contains."""
        own = [request.query.text, *(turn.text for turn in request.query.history if turn.role == "user")]
        texts = [_normalised(text) for text in [*texts_of(request.contexts), *(own if self.question else [])]]
        return [
            self.finding(f"no context says {shortened(match[0])}", match.start(), match.end())
            for match in QUOTED.finditer(unmarked(reply))
            if len(match[0].split()) >= self.words and not _is_quoted(match[0][1:-1], texts)
        ]


def _is_quoted(quotation: str, texts: Sequence[str]) -> bool:
    pieces = [piece for part in LEFT_OUT.split(CHANGED.sub(r"\1", quotation)) if (piece := _normalised(part).strip(EDGES))]
    return any(_in_order(pieces, text) for text in texts)


def _in_order(pieces: Sequence[str], text: str) -> bool:
    place = 0
    for piece in pieces:
        place = _place(piece, text, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _place(piece: str, text: str, place: int) -> int:
    """The first offset of a piece as whole words in a text, from a place on; -1 without one."""
    while (place := text.find(piece, place)) >= 0:
        before, after = text[place - 1 : place], text[place + len(piece) : place + len(piece) + 1]
        if not (_joined(before, piece[0]) or _joined(piece[-1], after)):
            return place
        place += 1
    return -1


def _joined(one: str, other: str) -> bool:
    """True if two characters belong to one word; never in scripts without spaces."""
    return (one + other).isascii() and one.isalnum() and other.isalnum()


def _normalised(text: str) -> str:
    bare = MARKUP.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return DASH.sub("-", " ".join(bare.split()))
