"""A chunk is read below the title of its document, the headings over it, and the header of its table."""

from collections.abc import Sequence

from rag.components.passages.surroundings import surroundings
from rag.core.corpus import Corpus


class TitledText:
    """Writes the title of the document and the headings over most of a chunk into a line above the chunk.

    A chunk that begins within a table has the caption of the table in that line, and below it the header. Footnotes that a
    chunk refers to follow it.
    """

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The chunks with what is above and below them; a chunk without any heading has no line above it."""
        return [found.around(found.header, found.text) for found in surroundings(corpus)]
