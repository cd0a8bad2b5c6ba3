"""A chunk is read below the title of its document, the headings over it, and the caption and the header of its table."""

from collections.abc import Callable, Sequence

from rag.core import headings
from rag.core.corpus import Corpus
from rag.core.text import footnotes
from rag.core.text.tables import caption_of, within

JOINT = " > "
"""Between the headings of a path, as in `rag.core.headings.Section`."""
LONGEST = 1000
"""The most characters of a header that are repeated: a table may have a wide header and any number of chunks."""


class TitledText:
    """Writes the title of the document and the headings over most of a chunk into a line above the chunk.

    A chunk that begins within a table has the caption of the table in that line, and below it the header. Footnotes that a
    chunk refers to follow it.
    """

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The chunks with what is above and below them."""
        return framed(corpus, _below_header)


def framed(corpus: Corpus, written: Callable[[str, int, int], str]) -> list[str]:
    """What `written` gives for the characters [start, end) of a document, by position, each with what it is read with.

    That is a line with title, headings and the captions of cut tables above it, and far footnotes below it.
    """
    texts = []
    for row, start, end in zip(corpus.doc.tolist(), corpus.start.tolist(), corpus.end.tolist(), strict=True):
        text = corpus.documents[row].text
        places = [(table, table.caption) for table in within(text, start, end) if table.caption]
        far = [caption_of(text, table) for table, place in places if not start <= place[0] < place[1] <= end]
        above = JOINT.join(filter(None, (*_path(corpus, row, start, end), *far)))
        texts.append("\n".join(filter(None, (above, written(text, start, end), *footnotes.elsewhere(text, start, end)))))
    return texts


def _path(corpus: Corpus, row: int, start: int, end: int) -> tuple[str, ...]:
    """The title of a document and the headings over most of a chunk; a file name is no title, for it may be any id."""
    title = str(corpus.documents[row].metadata.get("title", "")) or next((head.path for head in corpus.sections[row][1:2]), "")
    first, last = corpus.sections_of(row, start, end)
    path = headings.prevailing(corpus.sections[row][first : last + 1], start, end)
    return (path,) if path.split(JOINT)[0] == title else (title, path)


def _below_header(text: str, start: int, end: int) -> str:
    """A chunk; below the header of a table that begins above it."""
    cut = [table for table in within(text, start, end)[:1] if table.part.start < start and any(table.names)]
    header = "\n".join(text[row.start : row.end] for table in cut for row in table.head)[:LONGEST]
    return "\n".join(filter(None, (header, text[start:end])))
