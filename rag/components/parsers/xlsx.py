"""Spreadsheets → a heading and a pipe table for every sheet (calamine)."""

import io
from datetime import date, datetime, time, timedelta
from typing import ClassVar

from rag.components.parsers.markdown_text import MarkdownText
from rag.components.parsers.refusals import refusal, too_large
from rag.components.parsers.zip_limits import checked_zip
from rag.core.records import Block, Parsed


class XlsxParser:
    """Spreadsheets of Excel and OpenDocument. A sheet is a page; cells are the values that the file keeps, no formula is run.

    Dates and times are in ISO 8601. A file of more than `max_cells` cells is refused.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("xlsx", "xlsm", "ods")
    in_process: ClassVar[bool] = False

    def __init__(self, max_cells: int) -> None:
        self.max_cells = max_cells

    def parse(self, data: bytes, name: str) -> Parsed:
        """All sheets; DataError for another, an encrypted, a damaged and a too large file."""
        from python_calamine import CalamineWorkbook

        checked_zip(data, name, "a spreadsheet")
        with refusal(name, "a spreadsheet"):
            book = CalamineWorkbook.from_filelike(io.BytesIO(data))
            text, cells = MarkdownText(), 0
            for number, title in enumerate(book.sheet_names, 1):
                sheet = book.get_sheet_by_name(title)
                cells += sheet.height * sheet.width
                if cells > self.max_cells:
                    raise too_large(name, f"{cells:,} cells up to sheet {title!r}", self.max_cells, "cells")
                rows = [[shown(value) for value in row] for row in sheet.to_python(skip_empty_area=True)]
                text.heading(1, title, Block("", 0, 0, number))
                text.table([row for row in rows if any(row)], Block("", 0, 0, number))
            return text.parsed({}, len(book.sheet_names))


def shown(value: str | float | bool | date | time | datetime | timedelta) -> str:
    """A value of a cell as text: whole numbers without a point, dates in ISO 8601."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value.isoformat() if isinstance(value, date | time) else str(value)
