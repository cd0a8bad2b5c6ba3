"""The windows of a reduced text that share most with a quote."""

from collections.abc import Iterator
from functools import lru_cache

from rag.documents.anchors.reduced_text import HOLE

GRAM = 8
"""The length of the stretches by which windows are found, and of the shortest piece."""
REACH, SLACK = 2, 400
"""Windows have REACH times the length of the quote, SLACK characters, and up to half of SLACK at both ends."""
WINDOWS = 6
"""The number of windows that are tried."""


@lru_cache(maxsize=128)
def _index(text: str) -> dict[str, list[int]]:
    """The places of every GRAM-th stretch of GRAM characters: a shared stretch of twice that length holds one of them."""
    index: dict[str, list[int]] = {}
    for place in range(0, len(text) - GRAM + 1, GRAM):
        if HOLE not in (part := text[place : place + GRAM]):
            index.setdefault(part, []).append(place)
    return index


def windows(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """The windows [low, high) of a text that share most stretches with the quote, most first."""
    index = _index(text)
    hits = sorted((at, place) for place in range(len(quote) - GRAM + 1) for at in index.get(quote[place : place + GRAM], ()))
    width = REACH * len(quote) + SLACK
    scores: list[tuple[int, int, int]] = []
    seen: dict[int, int] = {}
    left = 0
    for at, place in hits:
        seen[place] = seen.get(place, 0) + 1
        while at + GRAM - hits[left][0] > width:
            gone = hits[left][1]
            seen[gone] -= 1
            if not seen[gone]:
                del seen[gone]
            left += 1
        scores.append((len(seen), hits[left][0], at + GRAM))
    chosen: list[tuple[int, int]] = []
    for score, first, last in sorted(scores, key=lambda each: (-each[0], each[2] - each[1], each[1])):
        if len(chosen) == WINDOWS or 4 * GRAM * score < len(quote):
            return
        if all(last <= other_first or first >= other_last for other_first, other_last in chosen):
            chosen.append((first, last))
            spare = max(width - (last - first), SLACK // 2)  # the first hit may be behind the first piece
            yield max(first - spare, 0), min(last + spare, len(text))
