"""The rows of a table are read with the names of the columns before their values."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from rag.components.passages.titled import framed
from rag.core.corpus import Corpus
from rag.core.text.layout import Row, cell_words
from rag.core.text.tables import Table, within

LONGEST = 200
"""The most characters of the name of a column that are repeated in every row."""


class RowText:
    """Writes rows of tables as `Header: value | Header: value`, and the rest of a chunk as it is.

    Title, headings, captions and footnotes are added as `TitledText` does. Empty cells are left out. A row that the chunk cuts
    has the part of it in the chunk.
    """

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The chunks with their rows written out."""
        return framed(corpus, lambda text, start, end: "".join(_written(text, start, end)))


def _written(text: str, start: int, end: int) -> Iterator[str]:
    """The pieces of a chunk, those of tables written by row."""
    at = start
    for table in within(text, start, end):
        yield text[at : max(at, table.part.start)]
        yield "\n".join(_lines(text, table, start, end))
        at = min(table.part.end, end)
    yield text[at:end]


def _lines(text: str, table: Table, start: int, end: int) -> Iterator[str]:
    """The rows of a table that [start, end) holds a part of: those of the header as they are, the others with names."""
    for rows, names in (table.head, [""] * len(table.names)), (table.rows, table.names):
        first = bisect_right(rows, start, key=lambda row: row.end)
        for row in rows[first : bisect_left(rows, end, key=lambda row: row.start)]:
            pairs = zip(names, _cells(text, row, start, end), strict=False)
            yield " | ".join(f"{name[:LONGEST]}: {words}" if name else words for name, words in pairs if words)


def _cells(text: str, row: Row, start: int, end: int) -> Sequence[str]:
    """The words of the cells of a row, or of their parts in [start, end)."""
    if start <= row.start and row.end <= end:
        return row.cells
    inside = [(max(first, start), min(last, end)) for first, last in row.places]
    return [cell_words(text, *place) if place[0] < place[1] else "" for place in inside]
