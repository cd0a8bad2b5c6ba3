"""Chunks that fill the window of an embedding model, measured by its own tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.roles import TokenOffsets
from rag.core.text.languages import check_language
from rag.core.text.sentences import Piece, blocks, is_heading, sentences, trimmed
from rag.core.types import Document, Span

SENTENCE, LINE, PARAGRAPH = range(3)
"""What ends at the end of a unit, the weakest first."""


class TokenChunker:
    """Packs whole paragraphs up to `target` tokens; none has more than `max`.

    A paragraph above `target` is a chunk of its own up to `max`; a longer one is cut between lines, then between sentences,
    packed the same way. A sentence above `max` is cut between tokens. A heading stays with its text if both fit.
    `overlap` is filled with whole sentences from the end of the chunk before, as far as `max` allows. The tokens of a chunk
    are all tokens of the document that touch it. Only a single character of more than `max` tokens exceeds it.
    """

    def __init__(
        self, embedder: object, target: int = 200, max: int = 256, overlap: int = 0, language: str = "english"
    ) -> None:
        check_whole("chunker.target", target, 1)
        check_whole("chunker.max", max, target, hint=f"not less than target={target}")
        check_whole("chunker.overlap", overlap, 0, target - 1, f"less than target={target}")
        check_language("chunker.language", language)
        self.embedder, self.target, self.max, self.overlap = counting(embedder), target, max, overlap
        self.language = language

    def chunk(self, document: Document) -> list[Span]:
        """Chunks in reading order; the document is tokenised once."""
        text = document.text
        outline = Outline.of(text, Tokens.of(self.embedder.token_offsets(text)), self.max, self.language)
        units = outline.units
        return [Span(document.doc_id, units[first][0], units[stop - 1][1]) for first, stop in self._packed(outline)]

    def _packed(self, outline: "Outline") -> Iterator[tuple[int, int]]:
        """The units [first, stop) of every chunk."""
        first = stop = 0
        while stop < len(outline.units):
            stop = self._stop(outline, first, stop)
            yield first, stop
            if stop < len(outline.units):
                room = max(outline.after[stop - 1] - self.overlap, outline.after[stop] - self.max)
                first = bisect_left(outline.first, room, first + 1, stop)

    def _stop(self, outline: "Outline", first: int, new: int) -> int:
        """The end of the chunk that begins with unit `first` and must hold the unit `new`."""
        wanted = bisect_right(outline.after, outline.first[first] + self.target, new)
        allowed = bisect_right(outline.after, outline.first[first] + self.max, new)
        for ends in (outline.paragraphs, outline.lines):
            place = bisect_right(ends, wanted)
            for end in ends[max(place - 1, 0) : place + 1]:
                if new < end <= allowed:
                    return end
        return max(wanted, new + 1)


def counting(embedder: object) -> TokenOffsets:
    """An embedder with a tokenizer; ConfigError for another one."""
    if isinstance(embedder, TokenOffsets):
        return embedder
    raise ConfigError(
        "chunker.embedder",
        f"{type(embedder).__name__} has no token_offsets, so its tokens cannot be counted",
        "choose an embedder with a tokenizer (embedder=minilm), or chunker=recursive",
    )


@dataclass(frozen=True)
class Tokens:
    """The starts and the ends of the tokens of a document, both ascending."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, offsets: Sequence[tuple[int, int]]) -> "Tokens":
        """Sort offsets: byte-level tokenizers give several tokens to one character."""
        table = np.array(offsets, dtype=np.int64).reshape(-1, 2)
        return cls(np.sort(table[:, 0]), np.sort(table[:, 1]))

    def touching(self, pieces: Sequence[Piece]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For every piece the number of the first token that touches it, and of the first one behind it."""
        table = np.array(pieces, dtype=np.int64).reshape(-1, 2)
        return np.searchsorted(self.ends, table[:, 0], "right"), np.searchsorted(self.starts, table[:, 1], "left")

    def cut(self, text: str, piece: Piece, limit: int) -> Iterator[Piece]:
        """Parts of a piece that at most `limit` tokens touch, without white space at their edges."""
        start, end = piece
        while start < end:
            # If one character has more tokens than the limit, the cut is behind it.
            beyond = np.searchsorted(self.ends, start, "right") + limit
            beyond = max(beyond, np.searchsorted(self.starts, start, "right"))
            stop = min(int(self.starts[beyond]), end) if beyond < len(self.starts) else end
            visible = trimmed(text, start, stop)
            if visible[0] < visible[1]:
                yield visible
            start = stop


@dataclass(frozen=True)
class Outline:
    """A document as units that are never cut: sentences, and parts of sentences with more tokens than a chunk may have.

    `first[i]` and `after[i]` bound the tokens that touch unit i; `paragraphs` and `lines` hold, ascending, the numbers
    of units before which a paragraph or a line has ended.
    """

    units: list[Piece]
    first: list[int]
    after: list[int]
    paragraphs: list[int]
    lines: list[int]

    @classmethod
    def of(cls, text: str, tokens: Tokens, limit: int, language: str) -> "Outline":
        """Lay out a text in units that at most `limit` tokens touch."""
        units, ranks = _ranked(text, language)
        first, after = tokens.touching(units)
        if np.any(after - first > limit):
            units, ranks = _shortened(text, units, ranks, tokens, limit)
            first, after = tokens.touching(units)
        levels = np.array(ranks, dtype=np.int64)
        paragraphs, lines = (np.flatnonzero(levels >= level) + 1 for level in (PARAGRAPH, LINE))
        return cls(units, first.tolist(), after.tolist(), paragraphs.tolist(), lines.tolist())


def _ranked(text: str, language: str) -> tuple[list[Piece], list[int]]:
    """The sentences of a text, and what ends with each; nothing ends with a heading, so that it stays with its text."""
    units: list[Piece] = []
    ranks: list[int] = []
    for block in blocks(text):
        if units and ranks[-1] == LINE and text.count("\n", units[-1][1], block[0]) > 1:
            ranks[-1] = PARAGRAPH
        units.extend(sentences(text, block, language))
        ranks.extend([SENTENCE] * (len(units) - len(ranks)))
        ranks[-1] = SENTENCE if is_heading(text, block[0]) else LINE
    # The end of a text ends a paragraph, unless the text has no unit.
    return units, [*ranks[:-1], PARAGRAPH][: len(units)]


def _shortened(text: str, units: list[Piece], ranks: list[int], tokens: Tokens, limit: int) -> tuple[list[Piece], list[int]]:
    """Units and ranks, with the units cut that more than `limit` tokens touch."""
    first, after = tokens.touching(units)
    parts: list[Piece] = []
    ends: list[int] = []
    for unit, rank, count in zip(units, ranks, (after - first).tolist(), strict=True):
        parts.extend(tokens.cut(text, unit, limit) if count > limit else (unit,))
        ends.extend([SENTENCE] * (len(parts) - len(ends) - 1) + [rank])
    return parts, ends
