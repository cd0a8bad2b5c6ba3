"""The blocks of a Markdown text: headings, paragraphs, lists, tables, code, quotes, footnotes.

markdown-it finds the blocks by the rules of GitHub Flavored Markdown, in time linear in the text; headings are those of
`rag.core.headings`, so that plain text has them, too.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, pairwise

from markdown_it import MarkdownIt

from rag.core.headings import FRONT, sections
from rag.core.text.sentences import Piece, trimmed

KINDS = {
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
}
"""Token of markdown-it → kind of block; every other text is a paragraph."""
NOTE = re.compile(r" {0,3}\[\^[^\]\s]{1,100}\]:")
"""The start of a footnote."""
LINE_END = re.compile(r"\r\n|\n|\r")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")
MARK = re.compile(r"\\.|\|", re.DOTALL)
"""A bar between cells, or any character behind a backslash."""


@dataclass(frozen=True, slots=True)
class Part:
    """The characters [start, end) of a text, without white space at their edges.

    `kind` is heading, text, list, table, code, quote or footnote.
    """

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its characters [start, end), the words of its cells, and the places of its cells in the text."""

    start: int
    end: int
    cells: tuple[str, ...]
    places: tuple[Piece, ...] = ()


@lru_cache(maxsize=16)
def parts(text: str) -> tuple[Part, ...]:
    """The blocks of a text in reading order; together they hold every character but white space."""
    front = FRONT.match(text)
    begin = front.end() if front else 0
    heads = [(section.start, section.body) for section in sections(text) if section.start < section.body]
    blocks = ((kind, begin + start, begin + end) for kind, start, end in _blocks(text[begin:]))
    first = [Part("text", 0, begin)] if front else []
    found = chain(first, *(_split(text, *block, heads) for block in blocks))
    return tuple(part for part in found if part.start < part.end)


def rows(text: str, table: Part) -> list[Row]:
    """The rows of a table, its header first, without the line of dashes below it."""
    edges = [table.start, *(end.end() for end in LINE_END.finditer(text, table.start, table.end)), table.end]
    lines = [trimmed(text, *line) for number, line in enumerate(pairwise(edges)) if number != 1]
    return [Row(*line, *_cells(text, *line)) for line in lines]


def cells(line: str) -> tuple[str, ...]:
    r"""The words of the cells of a line of a table; `\|` is a bar within a cell."""
    return _cells(line, *trimmed(line, 0, len(line)))[0]


def cell_words(text: str, start: int, end: int) -> str:
    """The words of a cell, or of a part of it, in the characters [start, end)."""
    return text[start:end].strip().replace(r"\|", "|")


def _cells(text: str, start: int, end: int) -> tuple[tuple[str, ...], tuple[Piece, ...]]:
    """Words and places of the cells of the line [start, end), which has no white space at its edges."""
    bars = [mark.start() for mark in MARK.finditer(text, start, end) if mark[0] == "|"]
    places = list(zip([start, *(bar + 1 for bar in bars)], [*bars, max(start, end)], strict=True))
    places = places[1:] if bars and bars[0] == start else places
    places = places[:-1] if places and places[-1][0] >= places[-1][1] else places
    return tuple(cell_words(text, *place) for place in places), tuple(places)


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of the outermost blocks."""
    lines = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
    for token in _markdown().parse(text):
        if token.level == 0 and token.map and token.nesting >= 0:
            yield KINDS.get(token.type, "text"), lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]


def _split(text: str, kind: str, start: int, end: int, heads: Sequence[Piece]) -> Iterator[Part]:
    """A block, cut before and behind the headings in it; a numbered heading is an item of a list for Markdown."""
    inside = heads[bisect_right(heads, start, key=lambda head: head[1]) : bisect_left(heads, end, key=lambda head: head[0])]
    if kind not in ("text", "list") or not inside:
        yield Part(_kind(text, kind, start), *trimmed(text, start, end))
        return
    for first, last in inside:
        yield Part(_kind(text, kind, start), *trimmed(text, start, max(first, start)))
        yield Part("heading", *trimmed(text, max(first, start), min(last, end)))
        start = last
    yield Part(_kind(text, kind, start), *trimmed(text, min(start, end), end))


def _kind(text: str, kind: str, start: int) -> str:
    if kind == "text" and NOTE.match(text, start):
        return "footnote"
    return "text" if kind == "list" and not ITEM.match(text, start) else kind


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
