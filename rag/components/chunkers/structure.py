"""The places where a text may be cut, by level: sections, blocks, items and rows, lines, sentences, words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from rag.components.chunkers.token import Tokens
from rag.core import headings
from rag.core.text.footnotes import MARK
from rag.core.text.layout import Part, parts
from rag.core.text.sentences import Piece, sentences, trimmed
from rag.core.text.sentences import blocks as lines
from rag.core.text.tables import Table, tables

ITEM = re.compile(r"^[ \t]*(?P<mark>[-*+]|\d{1,9}[.)])(?=\s|\Z)", re.MULTILINE)
WORD = re.compile(r"(?<=\s)\S")
AUTHOR = re.compile(r"(?:[—–―]|--?[ -])[^\n\r]{1,200}")
"""The line below a quote that names its author."""
COLON = (":", "：")
KEPT = ("table", "code", "quote")
"""The blocks that lose their meaning when they are cut."""
INTRODUCED = ("list", *KEPT)
"""The blocks that a paragraph with a colon at its end introduces."""


@dataclass(frozen=True)
class Structure:
    """A text and the places where its pieces are cut, ascending in each level; words, the last level, are found when needed.

    `bonds` are stretches (a, b) without a cut behind a, up to and including b: headings with the start of the text below, the
    header of a table with the start of its first row. `kept` are blocks of some kinds with their headings and captions, and
    headers of tables with their first row.
    `groups` are the edges of the groups of rows that become chunks, and the end of the text; `rows` the edges of all rows.
    Lengths are counted in `tokens`, or in characters if that is None.
    """

    text: str
    levels: tuple[list[int], ...]
    bonds: list[Piece]
    kept: list[Piece]
    groups: list[int]
    rows: list[int]
    tokens: Tokens | None = None

    @classmethod
    def of(
        cls, text: str, size: int, kept: Collection[str], rows: int | None, language: str, tokens: Tokens | None = None
    ) -> "Structure":
        """The structure of a text; bonds have fewer than `size` characters, groups `rows` rows, and None makes no groups."""
        blocks, found = parts(text), tables(text)
        headed = _headed(blocks, size)
        below = ((table.part.start, table.rows[0].start) for table in found if table.rows)
        bonds = sorted([*headed, *((start, body) for start, body in below if body - start < size)])
        heads = {body: start for start, body in headed}
        captions = {table.part.start: table.caption for table in found if table.caption}
        if rows:  # Every row is read with the caption, so a caption above stays with the text before it.
            captions = {start: caption for start, caption in captions.items() if start < caption[0]}
        kinds = dict(_stretches(text, blocks, captions, heads))
        stretches = list(kinds)
        starts = {block.start for block in blocks}
        loose = {start for start in starts.union(start for start, _ in stretches) if not _inside(stretches, start)}
        items = starts.union(_items(text, blocks), (row.start for table in found for row in table.rows[1:]))
        after = [*sorted(starts), len(text)]
        groups = list(_group_edges(found, stretches, after, rows)) if rows else []
        ends = ((table, after[bisect_left(after, table.part.end)]) for table in found)
        edges = [edge for table, end in ends for edge in (table.part.start, *(row.start for row in table.rows), end)]
        begun = ((start for start, _ in sentences(text, line, language)) for line in lines(text))
        fine = [start for start, _ in lines(text)], list(chain.from_iterable(begun))
        levels = (*_sections(text, blocks, headed), loose.difference(_belonging(text, blocks)), groups, loose, items, *fine)
        uncut = [stretch for stretch, kind in kinds.items() if kind in kept]
        if "table" not in kept:
            uncut += [(heads.get(table.part.start, table.part.start), table.rows[0].end) for table in found if table.rows]
        cuts = tuple(sorted(places) for places in levels)
        return cls(text, cuts, bonds, sorted(uncut), [*groups, len(text)], [0, *edges], tokens)

    def measured(self, pieces: Sequence[Piece]) -> tuple[list[int], list[int]]:
        """The starts and the ends of pieces, as numbers of characters or of tokens that touch them."""
        if self.tokens is None:
            return [start for start, _ in pieces], [end for _, end in pieces]
        first, after = self.tokens.touching(pieces)
        return first.tolist(), after.tolist()

    def length(self, piece: Piece) -> int:
        """The characters or tokens of a piece."""
        (start,), (end,) = self.measured([piece])
        return end - start

    def parts(self, piece: Piece, level: int) -> Iterator[Piece]:
        """The parts of a piece between the places of a level, without white space at their edges."""
        start, end = piece
        if level < len(self.levels):
            places = self.levels[level]
            inside = places[bisect_right(places, start) : bisect_left(places, end)]
        else:
            inside = [match.start() for match in WORD.finditer(self.text, start + 1, end)]
        for part in pairwise([start, *(place for place in inside if not _inside(self.bonds, place)), end]):
            first, last = trimmed(self.text, *part)
            if first < last:
                yield first, last

    def keeps(self, piece: Piece) -> bool:
        """True if a piece is part of a block that is kept."""
        number = bisect_right(self.kept, piece[0], key=lambda stretch: stretch[0])
        return bool(number) and piece[1] <= self.kept[number - 1][1]

    def group_end(self, start: int) -> int:
        """The end of the group of rows in which a piece begins; the end of the text without groups."""
        return self.groups[bisect_right(self.groups, start)]

    def row_before(self, place: int) -> int:
        """The last edge of a row up to a place, 0 if there is none."""
        return self.rows[bisect_right(self.rows, place) - 1]


def _inside(stretches: Sequence[Piece], place: int) -> bool:
    """True if a place is behind the start of a stretch, and not behind its end."""
    number = bisect_left(stretches, place, key=lambda stretch: stretch[0])
    return bool(number) and place <= stretches[number - 1][1]


def _headed(blocks: Sequence[Part], size: int) -> list[Piece]:
    """The start of headings that follow each other, and of the text below, as far as the headings are shorter than `size`."""
    found: list[Piece] = []
    body: int | None = None
    for block in reversed(blocks):
        if block.kind != "heading":
            body = block.start
        elif body is not None and body - block.start < size:
            if found and found[-1][1] == body:
                found.pop()
            found.append((block.start, body))
    return found[::-1]


def _sections(text: str, blocks: Sequence[Part], headed: Sequence[Piece]) -> list[set[int]]:
    """The starts of sections by depth, outermost first; headings that follow each other start the outermost one of theirs."""
    sections = headings.sections(text)
    depths: dict[int, int] = {}
    for block in blocks:
        if block.kind == "heading":
            number = bisect_right(headed, block.start, key=lambda stretch: stretch[0])
            start = headed[number - 1][0] if _inside(headed, block.start) else block.start
            depth = headings.above(sections, block.start).depth
            depths[start] = min(depth, depths.get(start, depth))
    return [{start for start, own in depths.items() if own == depth} for depth in sorted(set(depths.values()))]


def _stretches(
    text: str, blocks: Sequence[Part], captions: Mapping[int, Piece], heads: Mapping[int, int]
) -> Iterator[tuple[Piece, str]]:
    """Tables with captions, quotes with authors, and code, each with its kind and with the headings above it.

    `captions` are places by the start of the table, `heads` the starts of headings by the start of the text below.
    """
    for block, following in pairwise([*blocks, None]):
        if block is None or block.kind not in KEPT:
            continue
        first, last = captions.get(block.start, (block.start, block.end))
        start, end = min(first, block.start), max(last, block.end)
        if block.kind == "quote" and following and following.kind == "text":
            end = following.end if AUTHOR.fullmatch(text, following.start, following.end) else end
        yield (heads.get(start, start), end), block.kind


def _belonging(text: str, blocks: Sequence[Part]) -> Iterator[int]:
    """The starts of blocks that belong to the one above: footnotes, and what a colon introduces."""
    referred: set[str] = set()
    for block, following in pairwise(blocks):
        if block.kind != "footnote":
            referred = set(MARK.findall(text, block.start, block.end))
        if following.kind == "footnote":
            belongs = not referred.isdisjoint(MARK.findall(text, following.start, following.end))
        else:
            belongs = block.kind == "text" and following.kind in INTRODUCED and text[block.end - 1] in COLON
        if belongs:
            yield following.start


def _items(text: str, blocks: Sequence[Part]) -> Iterator[int]:
    """The starts of the outermost items of lists."""
    for block in blocks:
        if block.kind == "list":
            indent = block.start - text.rfind("\n", 0, block.start)
            for item in ITEM.finditer(text, block.start, block.end):
                if item.start("mark") - item.start() <= indent:
                    yield item.start("mark")


def _group_edges(found: Sequence[Table], stretches: Sequence[Piece], after: Sequence[int], count: int) -> Iterator[int]:
    """The edges of groups of `count` rows; the first begins with headings and header, the last ends before the next block."""
    for table in found:
        start, end = stretches[bisect_right(stretches, table.part.start, key=lambda stretch: stretch[0]) - 1]
        yield from (start, *(row.start for row in table.rows[count::count]), after[bisect_left(after, end)])
