"""Documents with pages and blocks from plain texts: a form feed ends a page, blank lines separate blocks."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rag.components.parsers.text import TextParser
from rag.core.types import Block, Document, Parsed, Redaction

POLICY = """\
# Annual leave

Everybody gets 25 days of leave a year. 🌴 The office is closed on Sundays.

| Years | Days |
|---|---|
| 0–4 | 25 |
| 5–9 | 27 |

Leave policy, page one\f\
## Carrying over

Up to five days may be carried over. They are taken by 31 March.

Write to [EMAIL] if a manager refuses.

Leave policy, page two\f\
## Asking

Ask your manager two weeks before.

cafÃ© hours are posted in the lobby by the porter.

-- 3 --"""
"""Three pages: one with a table, one with a redaction, one with mojibake."""


def document(doc_id: str, marked: str) -> Document:
    """A document of pages with equal blocks, one below the other; `[EMAIL]` is a redaction, the last block a footer."""
    text = marked.replace("\f", "\n\n")
    starts = [0, *(match.end() + number for number, match in enumerate(re.finditer("\f", marked), 1))]
    blocks = []
    for number, page in enumerate(marked.split("\f"), 1):
        parts = list(re.finditer(r"(?:.+\n?)+", page))
        for row, part in enumerate(parts):
            start = starts[number - 1] + part.start()
            top, bottom = row / len(parts), (row + 0.8) / len(parts)
            kind = "heading" if part[0].startswith("#") else "table" if part[0].startswith("|") else "text"
            kind = "marginalia" if row == len(parts) - 1 else kind
            blocks.append(Block(kind, start, start + len(part[0].rstrip()), number, ((0.1, top, 0.9, bottom),)))
            if kind == "table":
                blocks += _cells(part[0], start, number, top, bottom)
    found = re.finditer(r"\[EMAIL\]", text)
    redactions = tuple(Redaction(match.start(), match.end(), "email", 17) for match in found)
    return Document(doc_id, text, {}, tuple(blocks), redactions)


def _cells(text: str, start: int, page: int, top: float, bottom: float) -> list[Block]:
    """The cells of a table with two columns, without the row of dashes."""
    rows = [match for match in re.finditer(r".+", text) if "-" not in match[0]]
    height = (bottom - top) / len(rows)
    return [
        Block("cell", start + line.start() + cell.start(1), start + line.start() + cell.end(1), page, (box,))
        for row, line in enumerate(rows)
        for column, cell in enumerate(re.finditer(r"\| ([^|]+?) (?=\|)", line[0]))
        for box in [(0.1 + 0.4 * column, top + row * height, 0.5 + 0.4 * column, top + (row + 1) * height)]
    ]


@contextmanager
def parsed_pages() -> Iterator[None]:
    """Parse every text file with a form feed as `document` does; other files as they are."""
    as_it_is = TextParser.parse

    def parse(self: TextParser, data: bytes, name: str) -> Parsed:
        if b"\f" not in data:
            return as_it_is(self, data, name)
        made = document(name, data.decode())
        return Parsed(made.text, made.blocks, pages=3, redactions=made.redactions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextParser, "parse", parse)
        yield
