"""The reading order of the lines of a page: that of the file, unless the places on the page contradict it."""

from collections.abc import Sequence
from itertools import pairwise

from rag.documents.pages.lines import Line

FEWEST = 8
"""Lines of a page, or across its middle, from which a second column is looked for."""
PROSE = 0.6
"""Share of a column's width that its median line fills, if it is prose and not part of a table."""


def in_reading_order(lines: list[Line], width: float) -> list[Line]:
    """The lines in the order of the file; column by column where the file alternates between two columns of prose.

    A file that draws most of its lines from the bottom up is read from the top down.
    """
    if len(lines) < FEWEST:
        return lines
    if sum(after.bottom < before.top for before, after in pairwise(lines)) > len(lines) * 0.6:
        lines = sorted(lines, key=lambda line: (round(line.middle / max(line.size, 1)), line.left))
    middle = width / 2
    sides = [line.left >= middle for line in lines if line.right <= middle or line.left >= middle]
    if sum(before != after for before, after in pairwise(sides)) <= len(sides) / 4:
        return lines
    columns = [line for line in lines if line.right <= middle], [line for line in lines if line.left >= middle]
    return _by_column(lines, middle) if all(map(_is_prose, columns)) else lines


def _is_prose(column: Sequence[Line]) -> bool:
    """True if most lines fill their column, with several words."""
    if len(column) < FEWEST / 2:
        return False
    whole = max(line.right for line in column) - min(line.left for line in column)
    widths = sorted(line.right - line.left for line in column)
    words = sorted(line.text.count(" ") + 1 for line in column)
    return widths[len(widths) // 2] >= whole * PROSE and words[len(words) // 2] >= 4


def _by_column(lines: Sequence[Line], middle: float) -> list[Line]:
    """From the top down; between lines across both columns the left column comes first."""
    ordered: list[Line] = []
    sides: tuple[list[Line], list[Line]] = [], []
    for line in sorted(lines, key=lambda line: line.middle):
        if line.left < middle < line.right:
            ordered += [*sides[0], *sides[1], line]
            sides = [], []
        else:
            sides[line.left >= middle].append(line)
    return [*ordered, *sides[0], *sides[1]]
