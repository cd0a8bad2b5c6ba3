"""A chunk is read below the title of its document and the headings over it."""

from collections.abc import Sequence

from rag.core import headings
from rag.core.corpus import Corpus

JOINT = " > "
"""Between the headings of a path, as in `rag.core.headings.Section`."""


class TitledText:
    """Writes the title of the document and the headings over most of a chunk into a line above the chunk."""

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The chunks with that line; a chunk without any heading has none."""
        return [f"{path}\n{text}" if path else text for path, text in zip(paths(corpus), corpus.texts, strict=True)]


def paths(corpus: Corpus) -> list[str]:
    """The title of the document and the headings over most of each chunk, outermost first, joined by ` > `."""
    found = []
    for row, start, end in zip(corpus.doc.tolist(), corpus.start.tolist(), corpus.end.tolist(), strict=True):
        document = corpus.documents[row]
        title = str(document.metadata.get("title", "")) or corpus.title(document.doc_id)
        first, last = corpus.sections_of(row, start, end)
        path = headings.prevailing(corpus.sections[row][first : last + 1], start, end)
        found.append(path if path.split(JOINT)[0] == title else JOINT.join(filter(None, (title, path))))
    return found
