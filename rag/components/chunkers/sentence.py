"""A few sentences at a time."""

from rag.components.chunkers.fixed import windows
from rag.components.chunkers.limits import check_at_least
from rag.core.errors import ConfigError
from rag.core.records import Document, Span
from rag.core.text.sentences import blocks, sentences


class SentenceChunker:
    """Makes a chunk of every `sentences` neighbouring sentences, and moves on by `step` of them.

    Headings, list items and table rows count as sentences. Chunks have no greatest length: text without an end of a sentence,
    like a minified file, is one.
    """

    def __init__(self, sentences: int = 3, step: int = 3) -> None:
        check_at_least("chunker.sentences", sentences, 1)
        check_at_least("chunker.step", step, 1)
        if step > sentences:
            raise ConfigError("chunker.step", f"{step} would leave out text between chunks", f"at most sentences={sentences}")
        self.sentences, self.step = sentences, step

    def chunk(self, document: Document) -> list[Span]:
        """Chunks in reading order, up to the first one that reaches the last sentence."""
        text = document.text
        found = [sentence for block in blocks(text) for sentence in sentences(text, block)]
        cuts = windows(len(found), self.sentences, self.step)
        return [Span(document.doc_id, found[first][0], found[stop - 1][1]) for first, stop in cuts]
