"""The laws of chunkers that keep the structure of a text, with what is read of their chunks."""

import re
from bisect import bisect_right

from rag.core.corpus import Corpus
from rag.core.roles import Chunker, PassageText
from rag.core.text.layout import parts
from rag.core.text.tables import caption_of, tables
from rag.core.types import Document
from rag.testing.laws import law

WORD = re.compile(r"\w+")
NAME = 100
"""The most characters of the name of a column that a passage must repeat."""


def check_structure(chunker: Chunker, passage: PassageText, document: Document, size: int) -> None:
    """No chunk ends in a heading, code and rows of tables are in one chunk, and rows are read with the names of their columns.

    The laws hold for what fits into `size` characters with the headings above it; what is longer may be cut anywhere.
    """
    text, corpus = document.text, Corpus.of([document], chunker.chunk(document))
    spans = list(zip(corpus.start.tolist(), corpus.end.tolist(), passage.texts(corpus), strict=True))
    blocks, tops = parts(text), [0]
    for number, block in enumerate(blocks):
        below = next((other.start for other in blocks[number:] if other.kind != "heading"), None)
        if block.kind == "heading" and below is not None and below - block.start < size:
            law(not any(block.start < end <= below for _, end, _ in spans), "no chunk ends in a heading")
        if not number or blocks[number - 1].kind != "heading":
            tops.append(block.start)
        if block.kind == "code" and block.end - tops[-1] <= size:
            law(any(start <= block.start and block.end <= end for start, end, _ in spans), "code is whole")
    for table in tables(text):
        for row in table.rows:
            read = [words for start, end, words in spans if start <= row.start and row.end <= end]
            law(len(read) <= 1, "no row of a table is in two chunks")
            names = [name for name, cell in zip(table.names, row.cells, strict=False) if cell and len(name) <= NAME]
            known = set(WORD.findall(" ".join(read)))
            wanted = WORD.findall(" ".join((*names, caption_of(text, table))))
            law(not read or known.issuperset(wanted), "a row is read with the names of its columns and the caption")
        is_apart = getattr(chunker, "rows", None) is not None
        first = min(table.part.start, table.caption[0] if table.caption and not is_apart else table.part.start)
        last = table.rows[0].end if table.rows else table.part.end
        if last - min(first, tops[bisect_right(tops, first) - 1]) <= size:
            whole = any(start <= first and last <= end for start, end, _ in spans)
            law(whole, "caption, header and first row are in one chunk; without the caption where rows are chunks")
