"""Leaks of the system message: places where a reply repeats it."""

import itertools
import re
from collections.abc import Iterable

from rag.core.types import Request

WORD = re.compile(r"\w+")
QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|`[^`\n]{1,400}`")

Gram = tuple[str, ...]


def leaks(request: Request, text: str, length: int) -> list[tuple[int, int]]:
    """The places of `length` or more words in a row that a text repeats from a system message and from nothing else."""
    system = [QUOTED.sub("\n", message.content) for message in request.messages if message.role == "system"]
    public = [request.query.text, *(chunk.text for chunk in request.contexts)]
    secret = _grams(system, length) - _grams(public, length)
    words = [(match[0].casefold(), *match.span()) for match in WORD.finditer(text)]
    covered = [
        place
        for place in range(len(words) - length + 1)
        if secret and tuple(word for word, _, _ in words[place : place + length]) in secret
    ]
    return [(words[first][1], words[last + length - 1][2]) for first, last in _runs(covered, length)]


def _grams(texts: Iterable[str], length: int) -> set[Gram]:
    grams: set[Gram] = set()
    for text in texts:
        words = [match[0].casefold() for match in WORD.finditer(text)]
        grams |= set(zip(*(itertools.islice(words, first, None) for first in range(length)), strict=False))
    return grams


def _runs(places: list[int], length: int) -> list[tuple[int, int]]:
    """The first and last place of each run of places whose `length` words touch or overlap."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and place <= runs[-1][1] + length:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs
