from my_rag_parts.paragraphs import ParagraphChunker

from rag.testing import check_chunker


def test_laws() -> None:
    check_chunker(ParagraphChunker())
