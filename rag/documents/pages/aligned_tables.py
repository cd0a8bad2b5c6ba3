"""Tables of a page by the places of its words: rows with wide gaps, one below the other, whose cells share columns.

The idea of finding columns by words that are aligned is that of Nurminen (2013), which pdfplumber uses, too.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from math import inf
from statistics import median

from rag.documents.pages.lines import Line

Table = list[list[Line | None]]
"""Rows of cells; None where a row has nothing in a column."""
Row = list[Line]
SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())

APART, WIDEST, TIGHT = 1.0, 2.0, 0.15
"""Space between rows, against their height, that ends a table if it grows, and always; the most between lines of a cell."""
FEWEST, NONE_BETWEEN, RISE = 3, 4, 8
"""The fewest rows of a table with several cells; how far they are apart; heights up the page that begin another table."""
PROSE, FILLED, OVERLAP = 6, 0.4, 0.25
"""Words of a line from which it is prose; the least share of places with text; the overlap of rows that formulas have."""


def with_tables(lines: list[Line], pieces: Sequence[Line]) -> list[Line]:
    """The lines of a page with each table in the place of its lines; those stay if a table lacks any of their letters."""
    for table in aligned_tables(pieces):
        rows = [[cell for cell in row if cell] for row in table]
        whole = _joined([cell for row in rows for cell in row], "\n".join(" ".join(cell.text for cell in row) for row in rows))
        whole.table = table
        own = [line for line in lines if whole.top < line.middle < whole.bottom and whole.left - 1 < line.left < whole.right]
        if own and Counter(letters(whole.text)) == Counter("".join(letters(line.text) for line in own)):
            first = lines.index(own[0])
            lines = [*lines[:first], whole, *(line for line in lines[first:] if line not in own)]
    return lines


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    if text.isascii():
        return text.lower().encode().translate(None, SIGNS).decode()
    return "".join(filter(str.isalnum, text.casefold()))


def aligned_tables(pieces: Sequence[Line]) -> Iterator[Table]:
    """The tables of a page with these pieces of lines, which are in the order of the file."""
    rises = [number for number, (one, other) in enumerate(pairwise(pieces), 1) if one.middle - other.middle > RISE * one.size]
    for run in chain.from_iterable(_runs(_rows(pieces[first:last])) for first, last in pairwise([0, *rises, len(pieces)])):
        rows, columns = _body(run, _columns(run))
        if len(columns) > 1 and not _is_prose(rows):
            table = _merged([_placed(row, columns) for row in rows], rows)
            filled = [sum(cell is not None for cell in row) for row in table]
            if sum(count > 1 for count in filled) >= FEWEST and sum(filled) >= FILLED * len(table) * len(columns):
                yield table


def _rows(pieces: Sequence[Line]) -> list[Row]:
    """The cells at each height of the page, from left to right."""
    rows: list[Row] = []
    for piece in sorted(pieces, key=lambda piece: piece.middle):
        if not (rows and any(other.top < piece.middle < other.bottom for other in rows[-1])):
            rows.append([])
        rows[-1].append(piece)
    for row in rows:
        row.sort(key=lambda piece: piece.left)
        for at in range(len(row) - 1, 0, -1):
            if row[at].left - row[at - 1].right < min(row[at].size, row[at - 1].size):
                row[at - 1 : at + 1] = [_joined(row[at - 1 : at + 1])]
    return rows


def _joined(parts: Sequence[Line], text: str = "") -> Line:
    lefts, tops, rights, bottoms = zip(*((part.left, part.top, part.right, part.bottom) for part in parts), strict=True)
    text = text or " ".join(part.text for part in parts)
    return Line(text, min(lefts), min(tops), max(rights), max(bottoms), parts[0].size)


def _space(above: Row, row: Row) -> float:
    return min(cell.top for cell in row) - max(cell.bottom for cell in above)


def _height(row: Row) -> float:
    return median(cell.bottom - cell.top for cell in row)


def _runs(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows that follow one another closely, from the first with several cells to the last."""
    run: list[Row] = []
    last, before = 0, WIDEST
    for row in rows:
        space = _space(run[-1], row) / max(_height(row), _height(run[-1])) if run else 0.0
        if run and (space > min(max(APART, 1.5 * before), WIDEST) or len(run) - last > NONE_BETWEEN):
            yield run[:last]
            run, last, space = [], 0, WIDEST
        if run or len(row) > 1:
            run.append(row)
            last, before = len(run) if len(row) > 1 else last, space if len(run) > 1 else WIDEST
    yield run[:last]


def _columns(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Left and right of the columns: cells one above the other are in one, and so are neighbours that no row has both of."""
    columns: list[tuple[float, float]] = []
    for cell in sorted((cell for row in rows if len(row) > 1 for cell in row), key=lambda cell: cell.right - cell.left):
        over = _over(cell, columns)
        if len(over) < 2:
            sides = [side for number in over for side in columns.pop(number)]
            columns.append((min([cell.left, *sides]), max([cell.right, *sides])))
    columns.sort()
    at = 1
    while at < len(columns):
        if any({at - 1, at} <= {over[0] for cell in row if len(over := _over(cell, columns)) == 1} for row in rows):
            at += 1
        else:
            columns[at - 1 : at + 1] = [(columns[at - 1][0], columns[at][1])]
    return columns


def _over(cell: Line, columns: Sequence[tuple[float, float]]) -> list[int]:
    """The columns that a cell touches."""
    return [number for number, (left, right) in enumerate(columns) if cell.left < right and left < cell.right]


def _body(rows: list[Row], columns: list[tuple[float, float]]) -> tuple[list[Row], list[tuple[float, float]]]:
    """The rows without a caption above them and without notes below, which cross columns; and the columns of these rows."""
    half = (columns[-1][1] - columns[0][0]) / 2 if columns else 0.0
    wide = [max((cell.right - cell.left for cell in row if len(_over(cell, columns)) > 1), default=0.0) for row in rows]
    first = next((number for number, width in enumerate(wide) if width <= half), len(rows))
    last = next((number for number in range(len(rows), first, -1) if not wide[number - 1]), first)
    return rows[first:last], columns if last - first == len(rows) else _columns(rows[first:last])


def _is_prose(rows: Sequence[Row]) -> bool:
    """True if most letters are in long cells, or many rows overlap as those of formulas do."""
    texts = [cell.text for row in rows for cell in row]
    long = sum(len(text) for text in texts if len(text.split()) > PROSE)
    overlaps = sum(_space(above, row) < -OVERLAP * _height(row) for above, row in pairwise(rows))
    return long > sum(map(len, texts)) / 2 or overlaps > len(rows) / 4


def _placed(row: Row, columns: Sequence[tuple[float, float]]) -> list[Line | None]:
    """A cell for each column; one across several is in the first."""
    places: list[Line | None] = [None] * len(columns)
    for cell in row:
        number = (_over(cell, columns) or [0])[0]
        other = places[number]
        places[number] = _joined([other, cell]) if other else cell
    return places


def _merged(table: Table, rows: Sequence[Row]) -> Table:
    """The table with the lines of a cell in one row."""
    spaces = [_space(above, row) for above, row in pairwise(rows)]
    usual, merged = sorted(spaces)[3 * len(spaces) // 4] if spaces else 0.0, table[:1]
    for line, row, space in zip(table[1:], rows[1:], spaces, strict=True):
        both = list(zip(merged[-1], line, strict=True))
        pairs = [(cell, other) for cell, other in both if cell and other]
        is_head = not both[0][0] and len(pairs) == sum(map(bool, line))  # Names of columns above the first name of a row.
        is_tight = space < min(inf if is_head else usual - 0.1 * _height(row), TIGHT * _height(row))
        is_rest = 0 < len(pairs) < sum(map(bool, merged[-1])) and all(other.text[0].islower() for _, other in pairs)
        if (is_tight or is_rest) and not any(_is_number(cell) and _is_number(other) for cell, other in pairs):
            merged[-1] = [_joined([cell, other]) if cell and other else cell or other for cell, other in both]
        else:
            merged.append(line)
    return merged


def _is_number(cell: Line) -> bool:
    return 2 * sum(map(str.isdigit, cell.text)) >= len(letters(cell.text))
