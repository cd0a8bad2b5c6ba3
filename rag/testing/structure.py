"""The laws of chunkers that keep the structure of a text, with what is read of their chunks."""

import re
from collections.abc import Sequence

from rag.core.corpus import Corpus
from rag.core.records import Document, Span
from rag.core.roles import Chunker, PassageText
from rag.core.text.layout import Part, parts
from rag.core.text.sentences import Piece
from rag.core.text.tables import Table, tables
from rag.testing.laws import law

WORD = re.compile(r"\w+")
NAME = 100
"""The most characters of the name of a column that a passage must repeat."""


def check_structure(chunker: Chunker, passage: PassageText, document: Document, size: int) -> None:
    """No chunk ends in a heading, code and rows of tables are in one chunk, and rows are read with the names of their columns.

    The laws hold for what fits into `size` characters with the headings above it; what is longer may be cut anywhere.
    """
    text, corpus = document.text, Corpus.of([document], chunker.chunk(document))
    spans = [Span(document.doc_id, *edges) for edges in zip(corpus.start.tolist(), corpus.end.tolist(), strict=True)]
    blocks = parts(text)
    for number, block in enumerate(blocks):
        below = next((other.start for other in blocks[number:] if other.kind != "heading"), None)
        if block.kind == "heading" and below is not None and below - block.start < size:
            law(not any(block.start < span.end <= below for span in spans), "no chunk ends in a heading")
        if block.kind == "code" and block.end - _top(blocks, number) <= size:
            law(any(_holds(span, (block.start, block.end)) for span in spans), "code is whole")
    for table in tables(text):
        _check_table(table, spans, passage.texts(corpus), text, size)


def _check_table(table: Table, spans: Sequence[Span], read: Sequence[str], text: str, size: int) -> None:
    for row in table.rows:
        law(sum(_holds(span, (row.start, row.end)) for span in spans) <= 1, "no row of a table is in two chunks")
        names = [name for name, words in zip(table.names, row.cells, strict=False) if words and len(name) <= NAME]
        for span, words in zip(spans, read, strict=True):
            if _holds(span, (row.start, row.end)):
                law(
                    set(WORD.findall(" ".join(names))) <= set(WORD.findall(words)),
                    "a row is read with the names of its columns",
                )
    blocks = parts(text)
    first = min(table.part.start, table.caption[0] if table.caption else table.part.start)
    number = next(number for number, block in enumerate(blocks) if block.end > first)
    top = _top(blocks, number) if blocks[number].start == first else first
    if table.rows and table.rows[0].end - top <= size:
        law(any(_holds(span, (first, table.rows[0].end)) for span in spans), "caption, header and first row are in one chunk")


def _top(blocks: Sequence[Part], number: int) -> int:
    """The start of a block with the headings directly above it."""
    while number and blocks[number - 1].kind == "heading":
        number -= 1
    return blocks[number].start


def _holds(span: Span, piece: Piece) -> bool:
    return span.start <= piece[0] and piece[1] <= span.end
