"""Lines of text with their places on a page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.core.types import Box

LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
CONTROLS = {code: "\ufffd" for code in (*range(9), 11, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000), 0xFFFE)}
SPACES = dict.fromkeys((9, 10, 12, 13, 0x85, 0xA0, 0x2028, 0x2029), " ")
REPLACED = LIGATURES | CONTROLS | SPACES | dict.fromkeys((0, 0xAD, 0x200B, 0xFEFF), "")
LARGE = 1.7
"""The least size of a drop cap, in sizes of the lines beside it."""
UNCLEAN = re.compile(f"[{''.join(map(re.escape, map(chr, REPLACED)))}]")


def clean(text: str) -> str:
    """The text of one line: ligatures as letters, white space as spaces, U+FFFD for a character without a meaning."""
    return text.translate(REPLACED) if UNCLEAN.search(text) else text


@dataclass(slots=True)
class Line:
    """A stretch of text on one line of a page, in points from the top left. `size` is the height of its font.

    `pieces` is the number of stretches with wide gaps between them; a row of a table has several. `score` is the confidence
    with which it was recognised, None if it is text of the file. `table` has the rows of a whole table in the place of a line,
    None for a cell without text.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    is_bold: bool = False
    pieces: int = 1
    score: float | None = None
    table: "list[list[Line | None]]" = field(default_factory=list)

    @property
    def middle(self) -> float:
        """The height of its middle on the page."""
        return (self.top + self.bottom) / 2

    @property
    def is_level(self) -> bool:
        """Whether it runs across the page, not up or down."""
        return self.bottom - self.top < 2 * self.size


@dataclass(slots=True)
class Page:
    """The lines of a page in reading order; `width` and `height` are in points."""

    number: int
    width: float
    height: float
    lines: list[Line]

    def box(self, lines: Sequence[Line]) -> tuple[Box, ...]:
        """The rectangle around some lines, as shares of the page."""
        if not lines:
            return ()
        lefts, tops, rights, bottoms = zip(*((line.left, line.top, line.right, line.bottom) for line in lines), strict=True)
        return self.share(min(lefts), min(tops), max(rights), max(bottoms))

    def share(self, left: float, top: float, right: float, bottom: float) -> tuple[Box, ...]:
        """A rectangle in points as shares of the page; none outside of it, where a crop box cut the text off."""
        if self.width <= max(left, 0) or self.height <= max(top, 0) or min(right, bottom) <= 0:
            return ()
        return ((_share(left, self.width), _share(top, self.height), _share(right, self.width), _share(bottom, self.height)),)


def _share(value: float, whole: float) -> float:
    return round(min(max(value / whole, 0.0), 1.0), 4)


def in_rows(lines: Sequence[Line]) -> list[Line]:
    """Neighbours on one height and from left to right become one line."""
    rows: list[Line] = []
    for line in lines:
        last = rows[-1] if rows else None
        is_beside = last and line.left >= last.right - line.size / 2 and last.top < line.middle < last.bottom
        if last and is_beside and last.is_level and line.is_level:
            gap = line.left - last.right > 0.1 * line.size
            last.text += f" {line.text}" if gap else line.text
            last.pieces += gap and line.left - last.right > line.size
            last.score = None if last.score is None or line.score is None else min(last.score, line.score)
            last.is_bold = last.is_bold and line.is_bold
            last.right, last.size = max(last.right, line.right), max(last.size, line.size)
            last.top, last.bottom = min(last.top, line.top), max(last.bottom, line.bottom)
        else:
            rows.append(line)
    return rows


def with_initials(lines: Sequence[Line]) -> list[Line]:
    """The lines without drop caps: a large letter beside two lines or more begins the first of them.

    A, I and O are words of their own where there is a gap behind them.
    """
    kept = list(lines)
    for cap in [line for line in lines if len(line.text) == 1 and line.text.isupper()]:
        beside = [
            line
            for line in lines
            if cap.top < line.middle < cap.bottom and 0 <= line.left - cap.right + line.size / 3 < 2 * line.size
            if line.size * LARGE < cap.size and line.text[:1].isalpha()
        ]
        if len(beside) > 1:
            first = min(beside, key=lambda line: line.top)
            apart = cap.text in "AIO" and first.left - cap.right > 0.3 * first.size
            first.text, first.left = f"{cap.text}{' ' if apart else ''}{first.text}", cap.left
            kept.remove(cap)
    return kept
