"""One paragraph, one chunk."""

import re

from rag.core.types import Document, Span


class ParagraphChunker:
    """Cuts at blank lines; paragraphs with fewer than `least` characters are joined to the next."""

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def chunk(self, document: Document) -> list[Span]:
        """One span per paragraph, or per group of short ones."""
        spans: list[Span] = []
        start, end = None, 0
        for match in re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", document.text):
            start, end = match.start() if start is None else start, match.end()
            if end - start >= self.least:
                spans.append(Span(document.doc_id, start, end))
                start = None
        return spans if start is None else [*spans, Span(document.doc_id, start, end)]
