"""The rows of a table are read with the names of the columns before their values."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from rag.components.passages.surroundings import Surroundings, surroundings
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
        return [found.around("".join(_written(found))) for found in surroundings(corpus)]


def _written(found: Surroundings) -> Iterator[str]:
    """The pieces of a chunk, those of tables written by row."""
    at = found.start
    for table in within(found.document, found.start, found.end):
        yield found.document[at : max(at, table.part.start)]
        yield "\n".join(_lines(found, table))
        at = min(table.part.end, found.end)
    yield found.document[at : found.end]


def _lines(found: Surroundings, table: Table) -> Iterator[str]:
    for row in _inside(found, table.head):
        yield " | ".join(filter(None, _cells(found, row)))
    for row in _inside(found, table.rows):
        pairs = zip(table.names, _cells(found, row), strict=False)
        yield " | ".join(f"{name[:LONGEST]}: {words}" if name else words for name, words in pairs if words)


def _inside(found: Surroundings, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of which the chunk holds a part."""
    first = bisect_right(rows, found.start, key=lambda row: row.end)
    return rows[first : bisect_left(rows, found.end, key=lambda row: row.start)]


def _cells(found: Surroundings, row: Row) -> Sequence[str]:
    """The words of the cells of a row, or of their parts in the chunk."""
    if found.start <= row.start and row.end <= found.end:
        return row.cells
    inside = ((max(start, found.start), min(end, found.end)) for start, end in row.places)
    return [cell_words(found.document, *place) if place[0] < place[1] else "" for place in inside]
