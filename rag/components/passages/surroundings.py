"""What a chunk is read with: title, headings, the caption and the header of a table that began above it, far footnotes."""

from collections.abc import Iterator
from dataclasses import dataclass

from rag.core import headings
from rag.core.corpus import Corpus
from rag.core.text import footnotes, tables

JOINT = " > "
"""Between the headings of a path, as in `rag.core.headings.Section`."""
LONGEST = 1000
"""The most characters of a header that are repeated: a table may have a wide header and any number of chunks."""


@dataclass(frozen=True)
class Surroundings:
    """The characters [start, end) of a document, and what they are read with; empty where there is nothing.

    `path` are the title of the document and the headings over most of the chunk, `captions` those of its tables that it does
    not hold, `header` that of a table that begins above it, `notes` the footnotes that it refers to and does not hold.
    """

    chunk_id: str
    document: str
    start: int
    end: int
    path: str
    captions: tuple[str, ...]
    header: str
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The chunk."""
        return self.document[self.start : self.end]

    def around(self, *lines: str) -> str:
        """Lines with title, headings and captions above and footnotes below."""
        return "\n".join(filter(None, (JOINT.join(filter(None, (self.path, *self.captions))), *lines, *self.notes)))


def surroundings(corpus: Corpus) -> Iterator[Surroundings]:
    """What each chunk is read with, by position."""
    for row, start, end in zip(corpus.doc.tolist(), corpus.start.tolist(), corpus.end.tolist(), strict=True):
        text, cut = corpus.documents[row].text, tables.within(corpus.documents[row].text, start, end)
        far = [table for table in cut if table.caption and not start <= table.caption[0] < table.caption[1] <= end]
        header = _header(text, cut[0]) if cut and cut[0].part.start < start else ""
        captions = tuple(tables.caption_of(text, table) for table in far)
        notes = tuple(footnotes.elsewhere(text, start, end))
        chunk_id = f"{corpus.documents[row].doc_id}:{start}-{end}"
        yield Surroundings(chunk_id, text, start, end, _path(corpus, row, start, end), captions, header, notes)


def _path(corpus: Corpus, row: int, start: int, end: int) -> str:
    document = corpus.documents[row]
    title = str(document.metadata.get("title", "")) or corpus.title(document.doc_id)
    first, last = corpus.sections_of(row, start, end)
    path = headings.prevailing(corpus.sections[row][first : last + 1], start, end)
    return path if path.split(JOINT)[0] == title else JOINT.join(filter(None, (title, path)))


def _header(text: str, table: tables.Table) -> str:
    return text[table.head[0].start : table.head[-1].end][:LONGEST] if any(table.names) else ""
