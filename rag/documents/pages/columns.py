"""The reading order of the lines of a page: that of the file, unless the places on the page contradict it."""

from collections.abc import Sequence
from itertools import pairwise

from rag.documents.pages.lines import Line

FEWEST = 8
"""Lines of a page for which a second column is looked for."""
PROSE = 0.6
"""Share of a column's width that its median line fills, if it is prose and not part of a table."""


def in_reading_order(lines: list[Line], width: float) -> list[Line]:
    """The lines in the order of the file; column by column where the file alternates between two columns of prose.

    A file that draws most of its lines from the bottom up is read from the top down.
    """
    if len(lines) < FEWEST:
        return lines
    ups = sum(after.bottom < before.top for before, after in pairwise(lines))
    if ups > len(lines) * 0.6:
        lines = sorted(lines, key=lambda line: (round(line.middle / max(line.size, 1)), line.left))
    if not _alternates(lines, width / 2):
        return lines
    gutter = _gutter(lines, width)
    return _by_column(lines, gutter) if gutter and _alternates(lines, gutter) else lines


def _gutter(lines: Sequence[Line], width: float) -> float:
    """The middle of the upright strip that fewest lines cross, 0 if the page has no two columns of prose."""
    steps = [width * share / 100 for share in range(30, 71, 2)]
    crossed = [sum(line.left < step < line.right for line in lines) for step in steps]
    fewest = min(crossed)
    best = [step for step, count in zip(steps, crossed, strict=True) if count == fewest]
    gutter = best[len(best) // 2]
    sides = [[line for line in lines if line.right <= gutter], [line for line in lines if line.left >= gutter]]
    if fewest > len(lines) * 0.3 or any(len(side) < FEWEST / 2 for side in sides):
        return 0
    return gutter if all(_is_prose(side) for side in sides) else 0


def _is_prose(side: Sequence[Line]) -> bool:
    """True if most lines fill their column, with several words."""
    whole = max(line.right for line in side) - min(line.left for line in side)
    widths = sorted(line.right - line.left for line in side)
    words = sorted(line.text.count(" ") + 1 for line in side)
    return widths[len(widths) // 2] >= whole * PROSE and words[len(words) // 2] >= 4


def _alternates(lines: Sequence[Line], gutter: float) -> bool:
    """True if the order of the file goes from side to side of the page, and not down one column after the other."""
    sides = [line.left + line.right >= 2 * gutter for line in lines if line.right <= gutter or line.left >= gutter]
    return sum(before != after for before, after in pairwise(sides)) > len(sides) / 4


def _by_column(lines: Sequence[Line], gutter: float) -> list[Line]:
    """From the top down; between lines across both columns the left column comes first."""
    ordered: list[Line] = []
    sides: tuple[list[Line], list[Line]] = [], []
    for line in sorted(lines, key=lambda line: line.middle):
        if line.left < gutter < line.right:
            ordered += [*sides[0], *sides[1], line]
            sides = [], []
        else:
            sides[line.left >= gutter].append(line)
    return [*ordered, *sides[0], *sides[1]]
