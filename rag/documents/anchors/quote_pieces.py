"""The place of a quote in a text that a parser made, with tolerance: the quote may be in pieces.

Readers of one file reorder columns, put headers and footnotes between sentences, and change hyphens, ligatures and quotation
marks. So texts are compared as `rag.documents.anchors.reduced_text` reduces them, and a quote is covered with the longest
stretches that it shares with a window of the text (greedy string tiling: Wise, 1993). docs/datasets.md has the measurements
behind the limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rag.documents.anchors.quote_windows import GRAM, SLACK, windows
from rag.documents.anchors.reduced_text import EDGE, Reduced
from rag.documents.anchors.rendered import occurrences

LONG = 24
"""The length of the stretches that are taken before shorter ones."""
SHARE, SHORT_SHARE = 0.9, 0.96
"""The least share of a quote in pieces, and that of a quote with fewer than LENGTHY characters. All numbers must be there."""
LENGTHY = 256
SHORT = 32
"""Quotes with fewer reduced characters must be in one piece."""
NEAR = 16
"""Reduced characters between a number and the pieces around it, beyond their distance in the quote, for each of its own."""
MEAN = 32
"""A quote is in one piece and one more for each MEAN characters, at most; numbers alone are not counted."""

Tile = tuple[int, int, int]
"""A piece: its place in the quote, its place in the text, its length, all in reduced characters."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The pieces of a quote in a text, by their place in the text, and the share of the quote that they hold.

    `is_whole`: all numbers of the quote are in the pieces, and the pieces are few.
    """

    tiles: tuple[Tile, ...]
    share: float
    is_whole: bool

    @property
    def enough(self) -> bool:
        """Whether this is a place of the quote."""
        size = max((place + held for place, _, held in self.tiles), default=0)
        return self.is_whole and self.share >= (SHARE if size >= LENGTHY else SHORT_SHARE)

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
    for low, high in windows(quote.text, text.text):
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
    few = len(tiling.tiles) <= 1 + len(quote.text) / MEAN
    whole = tiling.take_numbers() and few
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

        Of several the one nearest to the end of the piece before. Stretches begin and end outside of numbers, and those of
        numbers alone have LONG characters.
        """
        place = after = 0
        while place <= len(self.quote.text) - least:
            sizes = ((self._common(place, at), -abs(at - after), at) for at in self._starts(place))
            size, _, at = max(sizes, default=(0, 0, 0))
            if size >= (least if any(map(str.isalpha, self.quote.text[place : place + size])) else LONG):
                self._take(place, at, size)
                place, after = place + size, at + size
            else:
                place += 1

    def take_numbers(self) -> bool:
        """Take the numbers that are not in pieces, near the pieces around them; whether all are found and none differs.

        One at an end of the quote, such as that of a page, may be near the other end of the pieces.
        """
        loose = [number for number in self.quote.numbers() if self.free_quote[number[0]]]
        gaps = [self._gap(*number) for number in loose]
        ends = min((at for _, at, _ in self.tiles), default=-1), max((at + size for _, at, size in self.tiles), default=-1)
        differ = []
        for number, gap in zip(loose, gaps, strict=True):
            if self._take_number(number, gap):
                differ.append(gap)
            elif (number[0] and number[1] < len(self.quote.text)) or not self._take_number(number, (0, *ends)):
                return False
        return not any(self._differs(gap) for gap in differ)

    def _gap(self, start: int, end: int) -> tuple[int, int, int]:
        """The length of the quote between the pieces around a number, and their end and start in the text; -1 without one."""
        before = max((tile for tile in self.tiles if tile[0] < start), default=(0, -1, 0))
        after = min((tile for tile in self.tiles if tile[0] >= end), default=(len(self.quote.text), -1, 0))
        return after[0] - before[0] - before[2], before[1] + before[2], after[1]

    def _take_number(self, number: tuple[int, int], gap: tuple[int, int, int]) -> bool:
        """Take a number that is near one of two places of the text."""
        start, end = number
        size, *sides = gap
        near = [side for side in sides if side >= 0]
        places = [at for at in self._occurrences(self.quote.text[start:end]) if self._common(start, at) >= end - start]
        places = [at for at in places if any(abs(at - side) <= size + NEAR * (end - start) for side in near)]
        if places:
            self._take(start, min(places, key=lambda at: min(abs(at - side) for side in near)), end - start)
        return bool(places)

    def _differs(self, gap: tuple[int, int, int]) -> bool:
        """Whether the text has a free number where the quote has another one: right behind a piece, or right before one."""
        size, before, after = gap
        stretches = [(before, before + size)] if before >= 0 else []
        stretches += [(after - size, after)] if after >= 0 else []
        return any(
            self.text.text[at] == EDGE and self.free_text[at - self.low]
            for low, high in stretches
            for at in range(max(low, self.low), min(high, self.high))
        )

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
