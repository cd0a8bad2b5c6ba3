"""The place of a quote in a text that a parser made, with tolerance: the quote may be in pieces.

Readers of one file reorder columns, put headers and footnotes between sentences, and change hyphens, ligatures and quotation
marks. So texts are compared as `rag.documents.reduced_text` reduces them, and a quote is covered with the longest stretches
that it shares with a window of the text (greedy string tiling: Wise, 1993). docs/datasets.md has the measurements behind the
limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rag.documents.reduced_text import HOLE, Reduced
from rag.documents.rendered import occurrences

GRAM = 8
"""The length of the stretches by which windows are found, and of the shortest piece."""
LONG = 24
"""The length of the stretches that are taken before shorter ones."""
SHARE = 0.9
"""The least share of a quote in pieces. All its numbers must be there."""
SHORT = 32
"""Quotes with fewer reduced characters must be in one piece."""
REACH, SLACK = 2, 400
"""Pieces lie in a window of REACH times the length of the quote, and SLACK characters."""
WINDOWS = 6
"""The number of windows that are tried."""

Tile = tuple[int, int, int]
"""A piece: its place in the quote, its place in the text, its length, all in reduced characters."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The pieces of a quote in a text, by their place in the text, and the share of the quote that they hold.

    `is_whole`: all numbers of the quote are in the pieces.
    """

    tiles: tuple[Tile, ...]
    share: float
    is_whole: bool

    @property
    def enough(self) -> bool:
        """Whether this is a place of the quote."""
        return self.share >= SHARE and self.is_whole

    def stretches(self) -> list[tuple[int, int]]:
        """The stretches [start, end) of the text, pieces that touch joined."""
        joined: list[tuple[int, int]] = []
        for _, at, size in self.tiles:
            if joined and joined[-1][1] == at:
                joined[-1] = (joined[-1][0], at + size)
            else:
                joined.append((at, at + size))
        return joined


def covers(quote: Reduced, text: Reduced) -> list[Cover]:
    """The places of a quote in a text: those where it is in one piece, or else in several."""
    size = len(quote.text)
    if not size:
        return []
    whole = [at for at in occurrences(text.text, quote.text, 50) if text.borders[at] and text.borders[at + size]]
    if size < SHORT:
        whole = [at for at in whole if _apart(text, at) and _apart(text, at + size)]
    if whole or size < SHORT:
        return [Cover(((0, at, size),), 1.0, True) for at in whole]
    found: list[Cover] = []
    for cover in candidates(quote, text):
        taken = {at for other in found for _, at, _ in other.tiles}
        if cover.enough and not any(at in taken for _, at, _ in cover.tiles):
            found.append(cover)
    return found


def _apart(text: Reduced, place: int) -> bool:
    """Whether a place is not inside a word."""
    return place in (0, len(text.places)) or text.places[place] - text.places[place - 1] != 1 or not text.text[place].isalpha()


def candidates(quote: Reduced, text: Reduced) -> Iterator[Cover]:
    """The pieces of a quote in the windows of a text that share most with it, most first."""
    for low, high in _windows(quote.text, text.text):
        cover = tiled(quote, text, low, high)
        if anchors := [at for _, at, size in cover.tiles if size >= LONG]:
            # Words of the quote that are far from the rest of it belong to other sentences.
            low, high = max(low, min(anchors) - SLACK), min(high, max(anchors) + len(quote.text) + SLACK)
            closer = tiled(quote, text, low, high)
            cover = closer if closer.enough or not cover.enough else cover
        yield cover


def tiled(quote: Reduced, text: Reduced, low: int, high: int) -> Cover:
    """The pieces of a quote in the stretch [low, high) of a text."""
    tiling = _Tiling(quote, text, low, high)
    tiling.take(LONG)
    tiling.take(GRAM)
    whole = tiling.take_numbers()
    held = sum(size for *_, size in tiling.tiles)
    return Cover(tuple(sorted(tiling.tiles, key=lambda tile: tile[1])), held / len(quote.text), whole)


class _Tiling:
    """The pieces of a quote in a window; a character of either is in one piece at most."""

    def __init__(self, quote: Reduced, text: Reduced, low: int, high: int) -> None:
        self.quote, self.text, self.low, self.high = quote, text, low, high
        self.tiles: list[Tile] = []
        self.free_quote = bytearray(b"\1" * len(quote.text) + b"\0")
        self.free_text = bytearray(b"\1" * (high - low) + b"\0")
        self.grams: dict[str, list[int]] = {}
        for at in range(low, high - GRAM + 1):
            self.grams.setdefault(text.text[at : at + GRAM], []).append(at)

    def take(self, least: int) -> None:
        """Take the longest free stretch at each place of the quote, from left to right, if it has `least` characters.

        Of several the one nearest to the end of the piece before. Stretches begin and end outside of numbers.
        """
        place = after = 0
        while place <= len(self.quote.text) - least:
            sizes = ((self._common(place, at), -abs(at - after), at) for at in self._starts(place))
            size, _, at = max(sizes, default=(0, 0, 0))
            if size >= least:
                self._take(place, at, size)
                place, after = place + size, at + size
            else:
                place += 1

    def take_numbers(self) -> bool:
        """Take the numbers that are not in pieces yet; whether all are found."""
        found = True
        for start, end in self.quote.numbers():
            if not self.free_quote[start]:
                continue
            ends = [(place + size, at + size) for place, at, size in self.tiles if place + size <= start]
            after = max(ends)[1] if ends else self.low
            number, size = self.quote.text[start:end], end - start
            places = [at for at in self._occurrences(number) if self._common(start, at) >= size]
            if places:
                self._take(start, min(places, key=lambda at: abs(at - after)), size)
            found &= bool(places)
        return found

    def _starts(self, place: int) -> list[int]:
        if not self.quote.borders[place]:
            return []
        return [at for at in self.grams.get(self.quote.text[place : place + GRAM], ()) if self.text.borders[at]]

    def _occurrences(self, part: str) -> Iterator[int]:
        at = self.text.text.find(part, self.low, self.high)
        while at >= 0:
            if self.text.borders[at]:
                yield at
            at = self.text.text.find(part, at + 1, self.high)

    def _common(self, place: int, at: int) -> int:
        """The length of the free stretch that begins at both places and cuts no number."""
        most = min(self.free_quote.find(0, place) - place, self.free_text.find(0, at - self.low) + self.low - at)
        least = 0
        while least < most:
            middle = (least + most + 1) // 2
            if self.quote.text[place : place + middle] == self.text.text[at : at + middle]:
                least = middle
            else:
                most = middle - 1
        while least and not (self.quote.borders[place + least] and self.text.borders[at + least]):
            least -= 1
        return least

    def _take(self, place: int, at: int, size: int) -> None:
        self.tiles.append((place, at, size))
        self.free_quote[place : place + size] = bytes(size)
        self.free_text[at - self.low : at - self.low + size] = bytes(size)


@lru_cache(maxsize=128)
def _index(text: str) -> dict[str, list[int]]:
    """The places of every GRAM-th stretch of GRAM characters: a shared stretch of twice that length holds one of them."""
    index: dict[str, list[int]] = {}
    for place in range(0, len(text) - GRAM + 1, GRAM):
        if HOLE not in (part := text[place : place + GRAM]):
            index.setdefault(part, []).append(place)
    return index


def _windows(quote: str, text: str) -> Iterator[tuple[int, int]]:
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
            spare = width - (last - first)
            yield max(first - spare, 0), min(last + spare, len(text))
