"""Where a reply repeats what a model was told in confidence."""

import itertools
import re
from collections.abc import Iterable

from rag.core.records import Request

WORD = re.compile(r"\w+")
QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|`[^`\n]{1,400}`")

Gram = tuple[str, ...]


def leaks(request: Request, text: str, length: int) -> list[tuple[int, int]]:
    """The places in `text` of `length` words or more in a row that stand so in a system message and nowhere else."""
    told = [QUOTED.sub("\n", message.content) for message in request.messages if message.role == "system"]
    open_to_all = [request.query.text, *(chunk.text for chunk in request.contexts)]
    secret = _grams(told, length) - _grams(open_to_all, length)
    words = [(match[0].casefold(), *match.span()) for match in WORD.finditer(text)]
    covered = [
        place
        for place in range(len(words) - length + 1)
        if secret and tuple(word for word, _, _ in words[place : place + length]) in secret
    ]
    return [(words[first][1], words[last + length - 1][2]) for first, last in _runs(covered, length)]


def _grams(texts: Iterable[str], length: int) -> set[Gram]:
    found: set[Gram] = set()
    for text in texts:
        words = [match[0].casefold() for match in WORD.finditer(text)]
        found |= set(zip(*(itertools.islice(words, first, None) for first in range(length)), strict=False))
    return found


def _runs(places: list[int], length: int) -> list[tuple[int, int]]:
    """First and last of places whose stretches of `length` words touch or overlap."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and place <= runs[-1][1] + length:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs
