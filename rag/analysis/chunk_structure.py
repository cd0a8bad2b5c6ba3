"""What chunks part: a heading from its text, rows of tables from their header; and what an index reads besides a chunk."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.core.corpus import Corpus
from rag.core.text import layout
from rag.core.text.layout import Row
from rag.core.text.sentences import Piece

HEADING, BARE, RAGGED = "ends in a heading", "row without header", "uneven row"
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class SeenChunk:
    """The characters [start, end) of a document, with flags, and what an index reads besides (`extra`).

    `rows` are the starts of the rows of tables that it holds whole and that are read with their header.
    """

    start: int
    end: int
    flags: Sequence[str]
    extra: Sequence[str]
    rows: Sequence[int]


@dataclass(frozen=True)
class Structure:
    """The headings of a text but a last one, and the rows of its tables with their headers but for empty headers."""

    headings: Sequence[Piece]
    rows: Sequence[tuple[Row, Row]]

    @classmethod
    def of(cls, text: str) -> "Structure":
        """The structure of a text, by `rag.core.text.layout`."""
        parts = layout.parts(text)
        tables = [layout.rows(text, part) for part in parts if part.kind == "table"]
        headings = [(part.start, part.end) for part in parts[:-1] if part.kind == "heading"]
        return cls(headings, [(row, head) for head, *body in tables if any(head.cells) for row in body])

    def seen(self, corpus: Corpus, position: int, flags: Sequence[str] = ()) -> SeenChunk:
        """The chunk at a position of a corpus, in a document with this structure; its flags follow those given."""
        start, end = int(corpus.start[position]), int(corpus.end[position])
        text, read = corpus.text(position), corpus.index_text(position)
        last, besides = start + len(text.rstrip()) - 1, extra(text, read)
        above = bisect_right(self.headings, last, key=lambda piece: piece[0]) - 1
        rows = list(self._rows(start, end, besides))
        found = {
            HEADING: start <= last and above >= 0 and last < self.headings[above][1],
            BARE: not all(named for _, _, named in rows),
            RAGGED: any(len(row.cells) != width for row, width, _ in rows),
        }
        kept = [row.start for row, _, named in rows if named and start <= row.start and row.end <= end]
        return SeenChunk(start, end, [*flags, *(name for name, has in found.items() if has)], besides, kept)

    def _rows(self, start: int, end: int, besides: Sequence[str]) -> Iterator[tuple[Row, int, bool]]:
        """The rows with a part in a chunk, the number of cells in their header, and whether that is read with them.

        It is if the chunk holds the header, or its words are read besides.
        """
        words = {word for text in besides for word in WORD.findall(text)}
        first = bisect_right(self.rows, start, key=lambda pair: pair[0].end)
        for row, head in self.rows[first : bisect_left(self.rows, end, key=lambda pair: pair[0].start)]:
            # An empty cell needs no name.
            names = (word for name, value in zip(head.cells, row.cells, strict=False) if value for word in WORD.findall(name))
            yield row, len(head.cells), (start <= head.start and head.end <= end) or (bool(words) and words.issuperset(names))


def extra(quote: str, read: str) -> tuple[str, ...]:
    """What an index reads above and below a chunk; its whole text if that does not hold the chunk; () if it is the chunk."""
    if read == quote:
        return ()
    before, found, after = read.rpartition(quote)
    return (before.strip(), after.strip()) if found else (read,)
