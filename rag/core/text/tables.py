"""The tables of a Markdown text: caption, names of the columns, rows.

A caption is known by its form, in any language: a label with a number ("Table 3. Marks", "Tabelle 2: Pegel", "表 1 水位"), a
line in bold or italics, or a short line that does not end like a sentence. Markdown has one header row, and converters write
merged cells as empty ones. So rows below the header belong to it as long as their first cells and its own are empty.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile, zip_longest

from rag.core import headings
from rag.core.text.layout import Part, Row, parts, rows
from rag.core.text.sentences import Piece, trimmed

LABELLED = re.compile(
    r"""
    \W{0,5}                                                       # marks of bold or italics
    (?: (?P<sure> (?i:t[aá]b|таб) \w{0,9} \.? [ \u00a0]           # Table, Tabelle, tableau, Таблица
                | [\u3040-\u9fff\uac00-\ud7af]{1,4} [ \u3000]? )   # 表
      | [^\W\d_]{1,20} \.? [ \u00a0] )
    (?: [A-Z]? [.-]? \d{1,4} (?: [.-] \d{1,3} ){0,3} [a-z]? | [IVXL]{1,6} ) (?!\w)
    [*_]{0,3} (?: [.:：)|–—-] | \Z | (?(sure) \s | \Z) )
  | (?:[Tt]able)? [ ]? : [ ] \S
    """,
    re.VERBOSE,
)
"""The start of a caption with a number; at the end, the captions of Pandoc."""
MARKED = re.compile(r"(\*{1,3}|_{1,3})(?=[^\s*_]).*[^\s]\1")
"""A line in bold or italics."""
SENTENCE = (".", "!", "?", ";", "…", "。", "！", "？", "।", "؟")
LONGEST, SHORT = 300, 120
"""The most characters of a caption with a number, and of one without."""
MOST = 3
"""The most rows below the first one that belong to a header."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a text.

    `caption` is its place, None if there is none. `names` are the names of the columns, empty where a column has none. `head`
    are the rows of the header, `rows` the others. Short rows are padded with empty cells to the width of the header, `names` to
    that of the longest row.
    """

    part: Part
    caption: Piece | None
    names: tuple[str, ...]
    head: tuple[Row, ...]
    rows: tuple[Row, ...]


@lru_cache(maxsize=16)
def tables(text: str) -> tuple[Table, ...]:
    """The tables of a text in reading order, in time linear in the text."""
    if "|" not in text:
        return ()
    blocks = parts(text)
    places = [number for number, part in enumerate(blocks) if part.kind == "table"]
    above = [_caption(text, blocks[number - 1], -1) if number else None for number in places]
    below = [_caption(text, blocks[number + 1], 0) if number + 1 < len(blocks) else None for number in places]
    labels = [sum(is_labelled(text, piece) for piece in side if piece) for side in (above, below)]
    found = []
    for number, upper, lower in zip(places, above, below, strict=True):
        lower = lower if lower and is_labelled(text, lower) else None
        if labels[1] > labels[0]:  # The captions of this text are below its tables.
            upper = lower or (None if upper and is_labelled(text, upper) else upper)
        elif upper is None and (number + 2 >= len(blocks) or blocks[number + 2].kind != "table"):
            upper = lower
        found.append(_table(text, blocks[number], upper))
    return tuple(found)


def within(text: str, start: int, end: int) -> Sequence[Table]:
    """The tables of which the characters [start, end) hold a part."""
    every = tables(text)
    first = bisect_right(every, start, key=lambda table: table.part.end)
    return every[first : bisect_left(every, end, key=lambda table: table.part.start)]


def is_labelled(text: str, piece: Piece) -> bool:
    """True if a caption begins with a label and a number."""
    return LABELLED.match(text[slice(*piece)]) is not None


def _caption(text: str, part: Part, line: int) -> Piece | None:
    """The caption in the paragraph above a table, or below it: the paragraph, or its line next to the table."""
    if part.kind != "text":
        return None
    edges = [part.start, part.end]
    if line and part.end - part.start > LONGEST:
        edges[0] = max(text.rfind(mark, part.start, part.end) + 1 for mark in ("\n", "\r")) or part.start
    for start in dict.fromkeys((edges[0], max(text.rfind("\n", *edges) + 1, edges[0]) if line else edges[0])):
        piece = trimmed(text, start, edges[1])
        if _is_caption(text[slice(*piece)]):
            return piece
    return None


def _is_caption(words: str) -> bool:
    if len(words) > LONGEST or not any(map(str.isalnum, words)) or words.startswith(("<", "---", "[^")):
        return False
    if LABELLED.match(words):
        return True
    if len(words) > SHORT or "\n" in words or "\r" in words:
        return False
    return bool(MARKED.fullmatch(words)) or not words.endswith(SENTENCE)


def _table(text: str, part: Part, caption: Piece | None) -> Table:
    lines = rows(text, part)
    size = 1 + len(_continued(lines))
    names = tuple(_names(lines[:size]))
    names += ("",) * (max(len(row.cells) for row in lines) - len(names))
    # A parser of Markdown bounds the empty cells that complete rows to the width of the header.
    width = len(lines[0].cells)
    padded = [
        row if len(row.cells) >= width else replace(row, cells=(*row.cells, *[""] * (width - len(row.cells)))) for row in lines
    ]
    return Table(part, caption, names, tuple(padded[:size]), tuple(padded[size:]))


def _continued(lines: Sequence[Row]) -> list[Row]:
    """The rows below the first one that belong to the header; the row behind them has a first cell."""
    if any(lines[0].cells[:1]):
        return []
    found = list(takewhile(lambda row: not any(row.cells[:1]) and any(row.cells), lines[1 : MOST + 2]))
    return found if len(found) <= MOST and len(found) + 1 < len(lines) else []


def _names(head: Sequence[Row]) -> Iterator[str]:
    """The names of the columns: the words of all rows of the header, where an empty cell continues the one to its left."""
    before = [""] * len(head)
    for own in zip_longest(*(row.cells for row in head), fillvalue=""):
        before = [words or left for words, left in zip(own, before, strict=True)]
        lowest = max((number for number, words in enumerate(own) if words), default=-1)
        yield " ".join(filter(None, dict.fromkeys((*before[:lowest], *own[lowest:][:1]))))


def caption_of(text: str, table: Table) -> str:
    """The words of the caption of a table on one line; empty if it has none."""
    return headings.words(" ".join(text[slice(*table.caption)].split())) if table.caption else ""
