"""Markdown that is written block by block; the place of every block is kept."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rag.core import headings
from rag.core.types import Block, Box, Parsed, Value

NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that no text file may have: control characters and halves of surrogate pairs."""
MARK = re.compile(r"^(?= {0,3}(?:#{1,6}[ \t]|```|~~~))", re.MULTILINE)
"""The start of a line that Markdown takes for a heading or for the fence of code."""
PROSE = ("text", "footnote", "marginalia")
FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


class Cell(NamedTuple):
    """A cell of a table whose place the file gives."""

    text: str
    boxes: tuple[Box, ...] = ()
    score: float | None = None
    name: str = ""


Row = Sequence[Cell | str | None]
"""The cells of a row; None is a place that a merged cell covers."""


def cleaned(text: str) -> str:
    """A text with line feeds as line ends and without characters that no text file may have."""
    return NO_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """A text with single spaces in place of its white space."""
    words = " ".join(text.split())
    return words if words.isprintable() else " ".join(NO_TEXT.sub("", text).split())


class MarkdownText:
    """A document in the making. Blocks are added in reading order; empty ones are left out."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._pieces: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def add(
        self,
        kind: str,
        text: str,
        page: int = 0,
        boxes: tuple[Box, ...] = (),
        score: float | None = None,
        name: str = "",
        *,
        joint: str | None = None,
        is_markdown: bool = False,
    ) -> None:
        """Append a block after `joint`, by default an empty line. A line of plain text never becomes a heading or a fence."""
        text = cleaned(text)
        text = text.strip("\n").rstrip() if kind in ("code", "list") else text.strip()
        if text:
            text = MARK.sub(r"\\", text) if kind in PROSE and not is_markdown else text
            self._begin(kind, joint)
            self.blocks.append(Block(kind, self._length, self._length + len(text), page, boxes, score, name))
            self._write(text)

    def heading(self, level: int, text: str, page: int = 0) -> None:
        """Append a heading of level 1 to 6, on one line."""
        if text := one_line(text):
            self.add("heading", f"{'#' * min(max(level, 1), 6)} {text}", page)

    def code(self, text: str, language: str = "", page: int = 0) -> None:
        """Append a fenced block; the fence is longer than those in the text."""
        if text := cleaned(text).strip("\n"):
            fence = "`" * max([3, *(len(match[1]) + 1 for match in FENCE.finditer(text))])
            self.add("code", f"{fence}{language}\n{text}\n{fence}", page)

    def add_table(
        self,
        rows: Sequence[Row],
        page: int = 0,
        boxes: tuple[Box, ...] = (),
        score: float | None = None,
        name: str = "",
        *,
        width: int = 0,
        is_continued: bool = False,
    ) -> None:
        """Append a pipe table with its first row as head; a cell with a place is a block too.

        `width` is the number of columns if it is not that of the longest row. A continued table goes on with the table before
        it, without a head.
        """
        if not any(_cell_text(cell) for row in rows for cell in row):
            return
        width = max(width, *map(len, rows))
        self._begin("table", "\n" if is_continued else None)
        start, cells, lines = self._length, list[Block](), list[str]()
        end = start
        for row in rows:
            lines.append(_row_text(row, width))
            if Cell in map(type, row):
                cells += _cells(row, page, end)
            if len(lines) == 1 and not is_continued:
                lines[0] += f"\n|{' --- |' * width}"
            end += len(lines[-1]) + 1
        self._write("\n".join(lines))
        self.blocks += [Block("table", start, self._length, page, boxes, score, name), *cells]

    def _begin(self, kind: str, joint: str | None = None) -> None:
        if self.blocks:
            is_list = kind == "list" == self.blocks[-1].kind
            self._write(("\n" if is_list else "\n\n") if joint is None else joint)

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def parsed(self, metadata: Mapping[str, Value | None], pages: int = 0, notes: Iterable[str] = ()) -> Parsed:
        """The document. Metadata without a value are left out; the first heading is the title of a document without one."""
        text = self.text
        known: dict[str, Value] = {}
        for key, value in {"title": "", **metadata}.items():
            value = one_line(value) if isinstance(value, str) else value
            value = headings.title(text) if key == "title" and not value else value
            if value not in ("", None):
                known[key] = value
        return Parsed(text, tuple(self.blocks), known, pages, tuple(note for note in map(one_line, notes) if note))


def _cells(row: Row, page: int, start: int) -> Iterator[Block]:
    """The blocks of the cells of a row that begins at `start`."""
    start += 2
    for cell in row:
        end = start + len(_cell_text(cell))
        if isinstance(cell, Cell) and end > start and (cell.boxes or cell.name):
            yield Block("cell", start, end, page, cell.boxes, cell.score, cell.name)
        start = end + 3


def _row_text(row: Row, width: int) -> str:
    texts = [cell if type(cell) is str else cell.text if isinstance(cell, Cell) else "" for cell in row]
    texts += [""] * (width - len(row))
    line = f"| {' | '.join(texts)} |"
    if line.isprintable() and "  " not in line and line.count("|") == width + 1:
        return line  # No cell needs a change.
    return f"| {' | '.join(map(_cell_text, texts))} |"


def _cell_text(cell: Cell | str | None) -> str:
    text = cell.text if isinstance(cell, Cell) else cell
    return one_line(text).replace("|", "\\|") if text else ""
