"""Tables of comma-separated values → a pipe table."""

import csv
import io
from typing import ClassVar

from rag.components.parsers.encodings import decoded
from rag.components.parsers.refusals import refusal, too_large
from rag.core.types import Parsed
from rag.documents.pages.markdown_text import MarkdownText

SAMPLE = 8192
"""Characters from which the separator is found."""


class CsvParser:
    """CSV files with commas, semicolons, tabs or bars between the cells; the first row is the head of the table.

    UTF-8, UTF-16 or cp1252. A file of more than `max_cells` cells is refused.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("csv", "tsv")
    in_process: ClassVar[bool] = False

    def __init__(self, max_cells: int) -> None:
        self.max_cells = max_cells

    def parse(self, data: bytes, name: str) -> Parsed:
        """The table; DataError for a binary file and for one that is too large."""
        text, note = decoded(data, name, "CSV")
        with refusal(name, "CSV"):
            rows, cells = list[list[str]](), 0
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text)):
                cells += len(row)
                if cells > self.max_cells:
                    raise too_large(name, f"{cells:,} cells and more", self.max_cells, "cells")
                rows += [row] if any(row) else []
            table = MarkdownText()
            table.add_table(rows)
            return table.parsed({}, notes=[note])


def _separator(text: str) -> str:
    try:
        return csv.Sniffer().sniff(text[:SAMPLE], ",;\t|").delimiter
    except csv.Error:
        return ","
