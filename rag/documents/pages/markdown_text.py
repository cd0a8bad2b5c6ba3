"""A Markdown text that grows block by block."""

import re
from collections.abc import Sequence

from rag.core.records import Block, Box

MARKS = re.compile(r"^(#{1,6} |[-*+] |>|```|\|)", re.MULTILINE)

Cell = tuple[str, tuple[Box, ...]]
"""The text of a cell and its boxes."""


class MarkdownText:
    """Collects blocks; blank lines are between them, and a line feed between items of a list."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def add(self, kind: str, text: str, page: int, boxes: tuple[Box, ...] = (), score: float | None = None) -> None:
        """Append a block; a text without characters adds none."""
        if text := text.strip():
            start = self._begin(kind)
            self._write(MARKS.sub(r"\\\1", text) if kind in ("text", "footnote", "marginalia") else text)
            self.blocks.append(Block(kind, start, self._length, page, boxes, score))

    def add_table(self, rows: Sequence[Sequence[Cell]], page: int, boxes: tuple[Box, ...]) -> None:
        """Append a pipe table, its first row as the header, and its cells that are not empty."""
        start, columns, cells = self._begin("table"), max(map(len, rows)), []
        for number, row in enumerate(rows):
            for text, place in [*row, *[("", ())] * (columns - len(row))]:
                self._write("| ")
                inner = text.replace("|", "\\|").strip()
                if inner:
                    cells.append(Block("cell", self._length, self._length + len(inner), page, place))
                self._write(f"{inner} ")
            self._write("|" + ("\n" + "| --- " * columns + "|" if number == 0 else "") + "\n" * (number < len(rows) - 1))
        self.blocks += [Block("table", start, self._length, page, boxes), *cells]

    def _begin(self, kind: str) -> int:
        if self.blocks:
            self._write("\n" if kind == self.blocks[-1].kind == "list" else "\n\n")
        return self._length

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
