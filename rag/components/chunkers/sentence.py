"""Chunks of a few sentences."""

from rag.components.chunkers.fixed import windows
from rag.core.checks import check_whole
from rag.core.text.languages import check_language
from rag.core.text.sentences import blocks, sentences
from rag.core.types import Document, Span


class SentenceChunker:
    """Makes a chunk of every `sentences` neighbouring sentences, and moves on by `step` of them.

    Headings, list items and table rows count as sentences. Chunks have no maximum length: text without the end of a sentence,
    such as a minified file, is one chunk.
    """

    def __init__(self, sentences: int = 3, step: int = 3, language: str = "english") -> None:
        check_whole("chunker.sentences", sentences, 1)
        check_whole("chunker.step", step, 1, sentences, f"a step above sentences={sentences} would leave out text")
        check_language("chunker.language", language)
        self.sentences, self.step, self.language = sentences, step, language

    def chunk(self, document: Document) -> list[Span]:
        """Chunks in reading order, up to the first one that reaches the last sentence."""
        text = document.text
        pieces = [sentence for block in blocks(text) for sentence in sentences(text, block, self.language)]
        cuts = windows(len(pieces), self.sentences, self.step)
        return [Span(document.doc_id, pieces[first][0], pieces[stop - 1][1]) for first, stop in cuts]
