"""The footnotes of a Markdown text: `[^1]` in a sentence, `[^1]: words` where it is defined."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from rag.core.text.layout import parts
from rag.core.text.sentences import Piece, trimmed

MARK = re.compile(r"\[\^(?P<label>[^\]\s]{1,100})\]")
DEFINED = re.compile(rf"^ {{0,3}}{MARK.pattern}:", re.MULTILINE)
LONGEST = 1000
"""The most characters of a footnote that are read with its referrer: any number of chunks may refer to it."""


@lru_cache(maxsize=16)
def definitions(text: str) -> Mapping[str, Piece]:
    """Label in small letters → the place of its first definition, up to the next one or the end of the block."""
    found: dict[str, Piece] = {}
    for part in parts(text) if DEFINED.search(text) else ():
        if part.kind != "code":
            marks = list(DEFINED.finditer(text, text.rfind("\n", 0, part.start) + 1, part.end))
            for mark, edges in zip(marks, pairwise([*(mark.start() for mark in marks), part.end]), strict=True):
                found.setdefault(mark["label"].lower(), trimmed(text, *edges))
    return found


def elsewhere(text: str, start: int, end: int) -> list[str]:
    """The footnotes that the characters [start, end) refer to and do not hold, each cut to LONGEST characters."""
    defined = definitions(text)
    labels = dict.fromkeys(mark["label"].lower() for mark in MARK.finditer(text, start, end)) if defined else ()
    places = [defined[label] for label in labels if label in defined]
    return [text[at:stop][:LONGEST] for at, stop in places if not start <= at < stop <= end]
