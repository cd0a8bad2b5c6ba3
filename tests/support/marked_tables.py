"""Tables that people marked in PDFs (ICDAR 2013), their cells, and the relations between neighbouring cells."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from rag.core.types import Parsed

Grid = dict[tuple[int, int], tuple[int, str]]
"""(row, column) → the number of a cell and its text; a cell that spans rows or columns is at all of them."""

Relation = tuple[str, str, str]


def reduced(text: str) -> str:
    """Letters, digits and the signs `%$€.,-`: the form in which texts of cells are compared, in lower case."""
    return re.sub(r"[^\w%$€.,-]|_", "", text).casefold()


def marked(path: Path) -> list[Grid]:
    """The tables of a file `-str.xml`; cells without text are left out."""
    return [_grid(table) for table in ElementTree.parse(path).getroot().iter("table")]


def _grid(table: ElementTree.Element) -> Grid:
    grid: Grid = {}
    numbered = enumerate((region, cell) for region in table.iter("region") for cell in region.iter("cell"))
    for number, (region, cell) in numbered:
        down, right = int(region.get("row-increment") or 0), int(region.get("col-increment") or 0)
        text = (cell.findtext("content") or "").strip()
        top, left = int(cell.get("start-row") or 0), int(cell.get("start-col") or 0)
        bottom, end = int(cell.get("end-row") or top), int(cell.get("end-col") or left)
        for row in range(top, bottom + 1):
            for column in range(left, end + 1):
                if text:
                    grid[row + down, column + right] = number, reduced(text)
    return grid


def texts(grid: Grid) -> list[str]:
    """The text of every cell, once."""
    return list({number: text for number, text in grid.values()}.values())


def relations(grids: Iterable[Grid]) -> Counter[Relation]:
    """Pairs of cells that are neighbours in a row or column with no cell with text between them; a pair counts once."""
    found: Counter[Relation] = Counter()
    for grid in grids:
        pairs = set()
        for axis in (0, 1):
            before: dict[int, tuple[int, str]] = {}
            for place in sorted(grid, key=lambda place: place[::-1] if axis else place):
                cell, lane = grid[place], place[axis]
                if lane in before and before[lane][0] != cell[0]:
                    pairs.add((before[lane], cell, ("right", "below")[axis]))
                before[lane] = cell
        found.update((first, second, direction) for (_, first), (_, second), direction in pairs)
    return found


def found(content: Parsed) -> list[Grid]:
    """The tables of a parsed file, from its cells and their places in the pipe tables."""
    tables = []
    for table in (block for block in content.blocks if block.kind == "table"):
        grid: Grid = {}
        for cell in (block for block in content.blocks if block.kind == "cell" and table.start <= block.start < table.end):
            line = content.text.rfind("\n", table.start, cell.start) + 1 or table.start
            row = content.text.count("\n", table.start, cell.start)
            column = len(re.findall(r"(?<!\\)\|", content.text[line : cell.start]))
            grid[row, column] = cell.start, reduced(content.text[cell.start : cell.end])
        tables.append(grid)
    return tables
