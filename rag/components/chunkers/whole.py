"""No cutting: whole documents are retrieved."""

from rag.core.types import Document, Span


class WholeChunker:
    """Makes one chunk of a document, none of a document of white space only."""

    def chunk(self, document: Document) -> list[Span]:
        """The span of all characters."""
        text = document.text
        return [Span(document.doc_id, 0, len(text))] if text and not text.isspace() else []
