"""The statements of a retrieved text: its sentences, list items and table rows, each with what is above it.

Sentences end as they do for chunkers (`rag.core.text.sentences`); here the lines of a paragraph are joined first.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rag.core import headings
from rag.core.text.sentences import blocks, sentences
from rag.core.types import Chunk

ITEM = re.compile(r"\A(?:[-*+•]|\d{1,3}[.)])\s+")
RULE = re.compile(r"[\s|:=_*+-]*")
TERM = re.compile(r"(\*\*|__).+\1")
"""`**Term.**` in bold print: its definition follows, and belongs to it."""
CELLS = " | "
HEADED = re.compile(r"(?:[^\W\d]+\.? ?\d{0,2},? )?(?:FY ?)?(?:19|20)\d\d\W*|\W*|[%\W]*[Cc]hange[%\W]*")
"""A cell of a header: a year or date, a change, or nothing."""
VALUE = re.compile(r"[\W\d]*\d[\W\d]*")
UNIT = re.compile(r"\(?\b(?:amounts |dollars )?in [^().:]{0,40}(?:thousand|million|billion|percent)s?\b", re.IGNORECASE)
"""The unit of a table in the text above it."""
LABEL = 120
"""The most characters of a line above a table that is its caption, if it does not end like a sentence."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The text of a statement and the headings above it.

    A row has the `header` of its table; its `caption` is that of the table or its unit, and the label of a group of rows.
    """

    text: str
    path: str
    header: str = ""
    caption: str = ""

    @property
    def shown(self) -> str:
        """The text; a row on one line, with its caption, and the name of its column in front of every value."""
        if not self.header:
            return self.text
        pairs = zip_longest(self.header.split(CELLS), self.text.split(CELLS), fillvalue="")
        row = CELLS.join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
        return f"{self.caption}: {row}" if self.caption else row


class _Table:
    """The caption and the names of the columns of the table that is read; empty between tables."""

    def __init__(self, caption: str = "") -> None:
        self.names, self.caption, self.group, self.begun = list[str](), caption, "", False

    def row(self, cells: Sequence[str], path: str) -> Statement | None:
        """The statement of a row; None for one of the header, and for a label of the rows below it."""
        spans = "" in self.names[1:] and not self.names[0] and not any(map(VALUE.fullmatch, cells[1:]))
        is_head = any(cells[1:]) and not self.begun and (not cells[0] or spans or all(map(HEADED.fullmatch, cells[1:])))
        if not self.names or is_head:
            self.names = [" ".join(filter(None, pair)) for pair in zip_longest(self.names, cells, fillvalue="")]
        elif cells[0] and len(cells) > 1 and not any(cells[1:]):
            self.group = cells[0].strip("*_: ")
        else:
            self.begun, above = True, CELLS.join(filter(None, (self.caption, self.group)))
            return Statement(CELLS.join(cells), path, CELLS.join(self.names) or CELLS, above)
        return None


def statements(chunk: Chunk, language: str = "english") -> list[Statement]:
    """The statements of a passage in reading order; headings and headers of tables are none.

    White space inside a statement becomes one blank.
    """
    table, read = _Table(), list[Statement]()
    for line in chunk.head.splitlines():
        table = table if line.startswith("|") else _Table(_caption(line, read))
        table.row(_cells(line), "") if line.startswith("|") and not RULE.fullmatch(line) else None
    table.group = before = ""
    for start, words in _paragraphs(chunk):
        path = chunk.section_at(start)
        if headings.holds(chunk.sections, start):
            table, before = _Table(), ""
        elif words.startswith("|"):
            if not table.names and before:
                table = _Table(_caption(before, read))
            row, before = table.row(_cells(words), path), ""
            read += [row] if row else []
        else:
            table = _Table()
            for part in _split(ITEM.sub("", words), language):
                read.append(Statement(part, path))
                before = part
    return read


def _caption(before: str, read: list[Statement]) -> str:
    """The caption that is the text before a table, and is no statement then; or its unit."""
    if len(before) <= LABEL and not before.endswith((".", "!", "?")):
        if read and read[-1].text == before:
            read.pop()
        return before.strip(":*_ ")
    return str((UNIT.search(before) or [""])[0]).strip("()")


def _paragraphs(chunk: Chunk) -> Iterator[tuple[int, str]]:
    """The words of paragraphs, their lines joined, each with its offset in the document.

    A heading, a list item and a table row are paragraphs of their own.
    """
    gathered: list[str] = []
    begun = end = 0
    for start, stop in blocks(chunk.text):
        place, words = chunk.span.start + start, " ".join(chunk.text[start:stop].split())
        alone = words.startswith("|") or headings.holds(chunk.sections, place)
        if gathered and (alone or ITEM.match(words) or chunk.text.count("\n", end, start) > 1):
            yield begun, " ".join(gathered)
            gathered = []
        if alone and not RULE.fullmatch(words):
            yield place, words
        elif not RULE.fullmatch(words):
            begun = begun if gathered else place
            gathered.append(words)
        end = stop
    if gathered:
        yield begun, " ".join(gathered)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.removeprefix("|").removesuffix("|").split("|")]


def _split(paragraph: str, language: str) -> Iterator[str]:
    first: int | None = None
    for start, end in sentences(paragraph, (0, len(paragraph)), language):
        first = start if first is None else first
        if end == len(paragraph) or not TERM.fullmatch(paragraph, start, end):
            yield paragraph[first:end]
            first = None
