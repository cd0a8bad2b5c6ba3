"""What chunks part: a heading from its text, the rows of a table from their header; and what an index reads besides a chunk."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.core.text import layout
from rag.core.text.layout import Row
from rag.core.text.sentences import Piece

HEADING, BARE = "ends in a heading", "row without header"
MEANINGS = {
    HEADING: "the text below that heading is in another chunk",
    BARE: "a row of a table of which the index does not read the names of the columns",
}
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Structure:
    """The places of the headings of a document, and the rows of its tables, each with the header of its table.

    A heading with nothing below it and a header without words are left out.
    """

    text: str
    headings: Sequence[Piece]
    rows: Sequence[tuple[Row, Row]]

    @classmethod
    def of(cls, text: str) -> "Structure":
        """The structure of a text, by `rag.core.text.layout`."""
        parts = layout.parts(text)
        tables = [layout.rows(text, part) for part in parts if part.kind == "table"]
        headings = [(part.start, part.end) for part in parts[:-1] if part.kind == "heading"]
        return cls(text, headings, [(row, head) for head, *body in tables if any(head.cells) for row in body])

    def flags(self, start: int, end: int, read: str) -> list[str]:
        """The flags of the chunk [start, end), for which an index reads the text `read`."""
        last = start + len(self.text[start:end].rstrip()) - 1
        above = bisect_right(self.headings, last, key=lambda piece: piece[0]) - 1
        headed = above >= 0 and last < self.headings[above][1]
        bare = not all(named for _, named in self.rows_in(start, end, read))
        return [name for name, found in ((HEADING, headed), (BARE, bare)) if found]

    def parted(self, chunks: Sequence[tuple[int, int, str]]) -> int:
        """The number of rows that no chunk holds whole and reads with their header; a chunk is (start, end, read)."""
        kept = {
            row.start
            for start, end, read in chunks
            for row, named in self.rows_in(start, end, read)
            if named and start <= row.start and row.end <= end
        }
        return len(self.rows) - len(kept)

    def rows_in(self, start: int, end: int, read: str) -> Iterator[tuple[Row, bool]]:
        """The rows with a part in a chunk, and whether the chunk holds the header, or its words are read besides the chunk."""
        words: set[str] | None = None
        first = bisect_right(self.rows, start, key=lambda pair: pair[0].end)
        for row, head in self.rows[first : bisect_left(self.rows, end, key=lambda pair: pair[0].start)]:
            if start <= head.start and head.end <= end:
                yield row, True
                continue
            if words is None:
                words = {word for text in extra(self.text[start:end], read) for word in WORD.findall(text)}
            # An empty cell needs no name.
            names = (name for name, value in zip(head.cells, row.cells, strict=False) if value)
            yield row, bool(words) and all(word in words for name in names for word in WORD.findall(name))


def extra(quote: str, read: str) -> tuple[str, ...]:
    """What an index reads above and below a chunk; its whole text if that does not hold the chunk; () if it is the chunk."""
    if read == quote:
        return ()
    before, found, after = read.partition(quote) if quote else ("", "", read)
    return (before.strip(), after.strip()) if found else (read,)
