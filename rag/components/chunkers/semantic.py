"""Cuts where neighbouring sentences differ most in meaning, by the vectors of an embedder.

Kamradt 2023, "5 Levels of Text Splitting", level 4; LlamaIndex has it as SemanticSplitterNodeParser. Chunks of both can
have any length; here they have limits.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.components.chunkers.recursive import RecursiveChunker
from rag.core.checks import check_number, check_whole
from rag.core.numbers import unit_rows
from rag.core.roles import Embedder
from rag.core.text.languages import check_language
from rag.core.text.sentences import Piece, blocks, is_heading, sentences
from rag.core.types import Document, Span

BATCH = 1024
"""Windows that are embedded in one call: their vectors are in memory together."""


class SemanticChunker:
    """Compares windows of sentences: each sentence with `window` neighbours on both sides, and the next one with its own.

    A chunk ends where the cosine distance of these two windows is above the `percentile` of all distances of the document. A
    chunk has `least` to `size` characters: an end before `least` does not count, and where `size` comes first, the greatest
    distance between both decides. Only the last chunk, and one before a sentence that does not fit into `size` with it, can be
    shorter. Sentences longer than `size` are cut between words. Behind a Markdown heading the distance counts as 0.
    """

    costly: ClassVar[bool] = True

    def __init__(
        self,
        embedder: Embedder,
        window: int = 1,
        percentile: float = 95.0,
        least: int = 200,
        size: int = 1600,
        language: str = "english",
    ) -> None:
        check_whole("chunker.window", window, 0)
        check_number("chunker.percentile", percentile, 0, 100)
        check_whole("chunker.size", size, 1)
        check_whole("chunker.least", least, 1, size, f"not above size={size}")
        check_language("chunker.language", language)
        self.embedder, self.window, self.percentile, self.least, self.size = embedder, window, percentile, least, size
        self.language = language

    def chunk(self, document: Document) -> list[Span]:
        """Chunks in reading order; the embedder reads each sentence 2 × `window` + 1 times."""
        text, shorter = document.text, RecursiveChunker(self.size, separators=(" ", ""))
        long = [sentence for block in blocks(text) for sentence in sentences(text, block, self.language)]
        pieces = [
            (start + part.start, start + part.end)
            for start, end in long
            for part in shorter.chunk(Document("", text[start:end]))
        ]
        distances = self._distances(text, pieces)
        breaks = np.flatnonzero(distances > np.percentile(distances, self.percentile)).tolist() if len(distances) else []
        cuts = self._cuts(pieces, distances, breaks)
        return [Span(document.doc_id, pieces[first][0], pieces[stop - 1][1]) for first, stop in cuts]

    def _distances(self, text: str, pieces: Sequence[Piece]) -> NDArray[np.float64]:
        """The cosine distance between the windows of each piece and of the next one, shape (pieces - 1,)."""
        last = len(pieces) - 1
        edges = [(max(0, number - self.window), min(last, number + self.window)) for number in range(len(pieces))]
        found = []
        # Every batch repeats the last window of the one before it.
        for first in range(0, last, BATCH - 1):
            texts = [text[pieces[a][0] : pieces[b][1]] for a, b in edges[first : first + BATCH]]
            vectors = unit_rows(self.embedder.embed_documents(texts).astype(np.float64))
            found.append(1.0 - np.einsum("ij,ij->i", vectors[:-1], vectors[1:]))
        # Rounded, so that the last bits of a vector decide nothing.
        distances = np.round(np.concatenate(found), 6) if found else np.zeros(0)
        distances[[number for number, piece in enumerate(pieces[:-1]) if is_heading(text, piece[0])]] = 0.0
        return distances

    def _cuts(
        self, pieces: Sequence[Piece], distances: NDArray[np.float64], breaks: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """The pieces [first, stop) of every chunk; a break of number n is behind piece n."""
        ends = [end for _, end in pieces]
        first = 0
        while first < len(pieces):
            start = pieces[first][0]
            beyond = max(bisect_right(ends, start + self.size, first), first + 1)
            enough = min(bisect_left(ends, start + self.least, first), beyond - 1)
            broken = bisect_left(breaks, enough)
            if broken < len(breaks) and breaks[broken] < beyond:
                stop = breaks[broken] + 1
            elif beyond == len(pieces):
                stop = beyond
            else:
                stop = enough + 1 + int(np.argmax(distances[enough:beyond]))
            yield first, stop
            first = stop
