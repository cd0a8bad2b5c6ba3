"""Markdown that is written block by block; the place of every block is kept."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from rag.core import headings
from rag.core.records import Block, Parsed, Value

NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that no text file may have: control characters and halves of surrogate pairs."""
MARK = re.compile(r"^(?= {0,3}#{1,6}[ \t])", re.MULTILINE)
"""The begin of a line that Markdown takes for a heading."""
FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
NOWHERE = Block("", 0, 0)
"""The place of a block without page and boxes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; `place` gives page, boxes, score and name."""

    text: str
    place: Block = NOWHERE


def cleaned(text: str) -> str:
    """A text with line feeds as line ends and without characters that no text file may have."""
    return NO_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """A text with single spaces in place of its white space."""
    words = " ".join(text.split())
    return words if words.isprintable() else " ".join(NO_TEXT.sub("", text).split())


def cell_text(cell: Cell | str | None) -> str:
    """The text of a cell as it is in a pipe table."""
    text = cell.text if isinstance(cell, Cell) else cell
    return one_line(text).replace("|", "\\|") if text else ""


class MarkdownText:
    """A document in the making. Blocks are added in reading order; empty ones are left out."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._pieces: list[str] = []
        self._length = 0

    def add(self, kind: str, text: str, place: Block = NOWHERE, joint: str | None = None) -> None:
        """A block of text. `place` gives page, boxes, score and name; `joint` are the characters before the block."""
        if text := cleaned(text).strip("\n") if kind in ("code", "list") else cleaned(text).strip():
            self._begin(kind, joint)
            self.blocks.append(replace(place, kind=kind, start=self._length, end=self._length + len(text)))
            self._write(text)

    def heading(self, level: int, text: str, place: Block = NOWHERE) -> None:
        """A heading of level 1 to 6, on one line."""
        if text := one_line(text):
            self.add("heading", f"{'#' * min(max(level, 1), 6)} {text}", place)

    def paragraph(self, text: str, place: Block = NOWHERE, kind: str = "text", joint: str | None = None) -> None:
        """A block of text in which no line is a heading."""
        self.add(kind, MARK.sub(r"\\", cleaned(text).strip()), place, joint)

    def code(self, text: str, language: str = "", place: Block = NOWHERE) -> None:
        """A fenced block; the fence is longer than those in the text."""
        if text := cleaned(text).strip("\n"):
            fence = "`" * max([3, *(len(match[1]) + 1 for match in FENCE.finditer(text))])
            self.add("code", f"{fence}{language}\n{text}\n{fence}", place)

    def table(self, rows: Sequence[Sequence[Cell | str | None]], place: Block = NOWHERE, pages: Sequence[int] = ()) -> None:
        """A pipe table with its first row as head; None is a place that a merged cell covers.

        `pages` are those of the rows: where a page ends, the block ends, and the table goes on in another block.
        """
        width = max(map(len, rows), default=0)
        if not any(cell_text(cell) for row in rows for cell in row):
            return
        self._begin("table")
        table, cells = self._length, list[Block]()
        for number, (row, page) in enumerate(zip(rows, pages or repeat(place.page), strict=False)):
            if number and page != place.page:
                self._end_table(table, cells, place)
                table, cells, place = self._length, [], replace(place, page=page)
            elif not number:
                place = replace(place, page=page)
            self._row(row, width, place, cells)
            if number == 0:
                self._write(f"| {' | '.join(['---'] * width)} |\n")
        self._end_table(table, cells, place, is_last=True)

    def _row(self, row: Sequence[Cell | str | None], width: int, table: Block, cells: list[Block]) -> None:
        line, at = ["|"], self._length + 1
        for cell in row:
            text = cell_text(cell)
            if text or (isinstance(cell, Cell) and cell.place.boxes):
                known = cell.place if isinstance(cell, Cell) else NOWHERE
                cells.append(Block("cell", at + 1, at + 1 + len(text), table.page, known.boxes, known.score, known.name))
            line.append(f" {text} |")
            at += len(text) + 3
        self._write(f"{''.join(line)}{'  |' * (width - len(row))}\n")

    def _end_table(self, start: int, cells: list[Block], place: Block, is_last: bool = False) -> None:
        if is_last:
            self._pieces[-1] = self._pieces[-1].removesuffix("\n")
            self._length -= 1
        self.blocks += [replace(place, kind="table", start=start, end=self._length - (not is_last)), *cells]

    def _begin(self, kind: str, joint: str | None = None) -> None:
        """Write the characters between the last block and the next one, by default an empty line, but not within a list."""
        if self.blocks:
            is_list = kind == "list" == self.blocks[-1].kind
            self._write(("\n" if is_list else "\n\n") if joint is None else joint)

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def parsed(self, metadata: Mapping[str, Value | None], pages: int = 0, notes: Iterable[str] = ()) -> Parsed:
        """The document. Metadata without a value are left out; the first heading is the title of a document without one."""
        text = "".join(self._pieces)
        known: dict[str, Value] = {}
        for key, value in {"title": "", **metadata}.items():
            value = one_line(value) if isinstance(value, str) else value
            value = headings.title(text) if key == "title" and not value else value
            if value not in ("", None):
                known[key] = value
        return Parsed(text, tuple(self.blocks), known, pages, tuple(note for note in map(one_line, notes) if note))
