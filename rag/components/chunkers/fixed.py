"""Windows of characters: the baseline that any other chunker must beat."""

from collections.abc import Iterator

from rag.core.checks import check_whole
from rag.core.types import Document, Span


class FixedChunker:
    """Cuts windows of `size` characters that step by `size - overlap`, also inside words.

    Windows of white space only are left out, the others keep the white space at their edges. The last window is shorter.
    """

    def __init__(self, size: int = 800, overlap: int = 0) -> None:
        check_whole("chunker.size", size, 1)
        check_whole("chunker.overlap", overlap, 0, size - 1, f"less than size={size}")
        self.size, self.overlap = size, overlap

    def chunk(self, document: Document) -> list[Span]:
        """Windows in reading order."""
        text = document.text
        cuts = windows(len(text), self.size, self.size - self.overlap)
        return [Span(document.doc_id, start, end) for start, end in cuts if not text[start:end].isspace()]


def windows(length: int, size: int, step: int) -> Iterator[tuple[int, int]]:
    """The windows [start, end) over `length` items, up to the first one that reaches the end."""
    last = max(0, length - size)
    for start in range(0, last + step, step):
        if start < length:
            yield start, min(start + size, length)
