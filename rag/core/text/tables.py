"""The tables of a Markdown text: caption, names of the columns, rows.

A caption is known by its form, in any language: a label with a number ("Table 3. Marks", "Tabelle 2: Pegel", "表 1 水位"), or a
short line above the table that does not end like a sentence. Markdown has one header row, and converters write merged cells as
empty ones. So rows below the header belong to it as long as their first cells and its own are empty.
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
    blocks = (Part("", 0, 0), *parts(text), *[Part("", len(text), len(text))] * 2) if "|" in text else ()
    places = [number for number, part in enumerate(blocks) if part.kind == "table"]
    above = [_caption(text, blocks[number - 1]) for number in places]
    below = [_caption(text, blocks[number + 1], is_below=True) for number in places]
    is_below = sum(map(bool, below)) > sum(_is_labelled(text, piece) for piece in above if piece)
    found = []
    for number, upper, lower in zip(places, above, below, strict=True):
        if is_below and upper and _is_labelled(text, upper):  # It is the caption of the table before.
            upper = None
        elif not is_below and blocks[number + 2].kind == "table":  # It may be the caption of the next table.
            lower = None
        found.append(_table(text, blocks[number], (lower or upper) if is_below else (upper or lower)))
    return tuple(found)


def within(text: str, start: int, end: int) -> Sequence[Table]:
    """The tables of which the characters [start, end) hold a part."""
    every = tables(text)
    first = bisect_right(every, start, key=lambda table: table.part.end)
    return every[first : bisect_left(every, end, key=lambda table: table.part.start)]


def caption_of(text: str, table: Table) -> str:
    """The words of the caption of a table on one line; empty if it has none."""
    return headings.words(" ".join(text[slice(*table.caption)].split())) if table.caption else ""


def _is_labelled(text: str, piece: Piece) -> bool:
    return LABELLED.match(text[slice(*piece)]) is not None


def _caption(text: str, part: Part, is_below: bool = False) -> Piece | None:
    """The caption in the paragraph above a table, or its last line; or the paragraph below it with a label."""
    pieces = [(part.start, part.end)] if part.kind == "text" else []
    if pieces and not is_below:
        pieces.append(trimmed(text, max(text.rfind("\n", part.start, part.end) + 1, part.start), part.end))
    return next((piece for piece in pieces if _is_caption(text, piece, is_below)), None)


def _is_caption(text: str, piece: Piece, is_below: bool) -> bool:
    words = text[piece[0] : min(piece[1], piece[0] + LONGEST + 1)]
    if len(words) > LONGEST or not any(map(str.isalnum, words)) or words.startswith(("<", "---", "[^")):
        return False
    is_short = len(words) <= SHORT and "\n" not in words and not words.endswith(SENTENCE)
    return _is_labelled(text, piece) or (is_short and not is_below)


def _table(text: str, part: Part, caption: Piece | None) -> Table:
    lines = rows(text, part)
    size = 1 + len(_continued(lines))
    names = tuple(names_of(lines[:size]))
    names += ("",) * (max(len(row.cells) for row in lines) - len(names))
    width = len(lines[0].cells)  # A parser of Markdown bounds the empty cells that complete rows to this width.
    padded = [replace(row, cells=row.cells + ("",) * (width - len(row.cells))) for row in lines]
    return Table(part, caption, names, tuple(padded[:size]), tuple(padded[size:]))


def _continued(lines: Sequence[Row]) -> list[Row]:
    """The rows below the first one that belong to the header; the row behind them has a first cell."""
    if any(lines[0].cells[:1]):
        return []
    found = list(takewhile(lambda row: not any(row.cells[:1]) and any(row.cells), lines[1 : MOST + 2]))
    return found if len(found) <= MOST and len(found) + 1 < len(lines) else []


def names_of(head: Sequence[Row]) -> Iterator[str]:
    """The names of the columns: the words of all rows of the header, where an empty cell continues the one to its left."""
    before = [""] * len(head)
    for own in zip_longest(*(row.cells for row in head), fillvalue=""):
        before = [words or left for words, left in zip(own, before, strict=True)]
        lowest = max((number for number, words in enumerate(own) if words), default=-1)
        yield " ".join(filter(None, dict.fromkeys((*before[:lowest], *own[lowest:][:1]))))
