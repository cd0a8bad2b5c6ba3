"""Excel files → a heading and a pipe table for every sheet (calamine)."""

import io
import re
from datetime import date, datetime, time, timedelta
from typing import ClassVar
from zipfile import ZipFile

from rag.components.parsers.office_files import checked_zip
from rag.components.parsers.refusals import refusal, too_large
from rag.core.types import Parsed
from rag.documents.pages.markdown_text import MarkdownText

CELL = re.compile(rb"""\sr\s*=\s*["']([A-Z]{1,3})(\d{1,7})["']""")


class XlsxParser:
    """Excel files of 2007 and later. A sheet is a page; cells are the values that the file keeps, no formula is run.

    Dates and times are in ISO 8601. A file of more than `max_cells` cells is refused.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("xlsx", "xlsm")
    in_process: ClassVar[bool] = False

    def __init__(self, max_cells: int) -> None:
        self.max_cells = max_cells

    def parse(self, data: bytes, name: str) -> Parsed:
        """All sheets; DataError for another, an encrypted, a damaged and a too large file."""
        from python_calamine import CalamineWorkbook

        archive = checked_zip(data, name, "an Excel file")
        with refusal(name, "an Excel file"):
            self._check(archive, name)
            book = CalamineWorkbook.from_filelike(io.BytesIO(data))
            text = MarkdownText()
            for number, title in enumerate(book.sheet_names, 1):
                sheet = book.get_sheet_by_name(title)
                rows = [[shown(value) for value in row] for row in sheet.to_python(skip_empty_area=True)]
                text.heading(1, title, number)
                text.add_table([row for row in rows if any(row)], number)
            return text.parsed({}, len(book.sheet_names))

    def _check(self, archive: ZipFile, name: str) -> None:
        """DataError for too many places from the first to the last cell of the sheets: calamine keeps all of them in memory."""
        places = 0
        for part in filter(lambda part: part.endswith(".xml"), archive.namelist()):
            if found := CELL.findall(archive.read(part)):
                columns, rows = ({*map(_column, {name for name, _ in found})}, {*map(int, {row for _, row in found})})
                places += (max(columns) - min(columns) + 1) * (max(rows) - min(rows) + 1)
        if places > self.max_cells:
            raise too_large(name, f"{places:,} places for cells", self.max_cells, "cells")


def _column(letters: bytes) -> int:
    return sum((letter - 64) * 26**power for power, letter in enumerate(reversed(letters)))


def shown(value: str | float | bool | date | time | datetime | timedelta) -> str:
    """A value of a cell as text: whole numbers without a point, dates in ISO 8601."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value.isoformat() if isinstance(value, date | time) else str(value)
