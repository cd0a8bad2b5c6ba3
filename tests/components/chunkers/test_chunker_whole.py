"""Documents as they are."""

from rag.components.chunkers.whole import WholeChunker
from rag.core.types import Document, Span


def test_a_document_is_a_chunk() -> None:
    assert WholeChunker().chunk(Document("d", "\n one. two ")) == [Span("d", 0, 11)]
