"""Cuts at the strongest separator of a text, and pieces that are too long at the next weaker one."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from rag.components.chunkers.fixed import windows
from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.text.sentences import Piece, trimmed
from rag.core.types import Document, Span

SEPARATORS = ("\n\n", "\n", ". ", " ", "")


class RecursiveChunker:
    """Splits by a hierarchy of separators and packs short neighbours into chunks of at most `size` characters.

    This is LangChain's RecursiveCharacterTextSplitter on offsets. Chunks are quotes of the document; a separator belongs to
    the piece before it and is counted when pieces are packed. A piece that is too long is cut at the next separator, and its
    parts are packed together. A line feed in a separator also matches CR LF. The empty separator cuts windows of characters;
    without it a piece that no separator cuts becomes a chunk longer than `size`. White space at the edges of a chunk is not
    kept. `overlap` is filled with whole pieces from the end of the chunk before, as far as they fit.
    """

    def __init__(self, size: int = 800, overlap: int = 0, separators: Sequence[str] = SEPARATORS) -> None:
        check_whole("chunker.size", size, 1)
        check_whole("chunker.overlap", overlap, 0, size - 1, f"less than size={size}")
        check_separators(separators)
        self.size, self.overlap, self.separators = size, overlap, tuple(separators)

    def chunk(self, document: Document) -> list[Span]:
        """Chunks in reading order."""
        text = document.text
        cuts = (trimmed(text, *piece) for piece in self._cut(text, (0, len(text)), 0))
        # Overlapping windows may differ only in white space: each is kept once.
        return [Span(document.doc_id, start, end) for start, end in dict.fromkeys(cuts) if start < end]

    def _cut(self, text: str, piece: Piece, level: int) -> Iterator[Piece]:
        start, stop = piece
        if self._fits(text, piece) or level == len(self.separators):
            yield piece
        elif separator := self.separators[level]:
            yield from self._repacked(text, pieces(text, start, stop, separator), level)
        else:
            cuts = windows(stop - start, self.size, self.size - self.overlap)
            yield from ((start + a, start + b) for a, b in cuts)

    def _repacked(self, text: str, parts: Iterable[Piece], level: int) -> Iterator[Piece]:
        short: list[Piece] = []
        for part in parts:
            if self._fits(text, part):
                short.append(part)
            else:
                yield from self._packed(short)
                yield from self._cut(text, part, level + 1)
                short = []
        yield from self._packed(short)

    def _fits(self, text: str, piece: Piece) -> bool:
        start, stop = piece
        return stop - start <= self.size or len(text[start:stop].strip()) <= self.size

    def _packed(self, short: list[Piece]) -> Iterator[Piece]:
        starts, ends = [start for start, _ in short], [end for _, end in short]
        first = following = 0
        while following < len(short):
            following = max(bisect_right(ends, starts[first] + self.size, following), following + 1)
            last = following - 1
            yield starts[first], ends[last]
            if following < len(short):
                room = max(ends[last] - self.overlap, ends[following] - self.size)
                first = bisect_left(starts, room, first + 1, following)


def pieces(text: str, start: int, stop: int, separator: str) -> Iterator[Piece]:
    r"""Cut [start, stop) at every `separator`; pieces of white space only are left out.

    The cut is behind the separator; if that begins with white space, as in "\n## ", the rest of it goes to the next piece.
    """
    pattern = re.compile(re.escape(separator).replace("\\\n", "\r?\n"))
    leading = len(separator.lstrip()) if separator[0].isspace() else 0
    cuts = (match.end() - leading for match in pattern.finditer(text, start, stop))
    for begin, end in pairwise(chain([start], cuts, [stop])):
        if begin < end and not text[begin:end].isspace():
            yield begin, end


def check_separators(separators: Sequence[str]) -> None:
    """Raise ConfigError unless `separators` is a list of texts, the empty one at most as the last."""
    where = "chunker.separators"
    if not isinstance(separators, (list, tuple)) or not all(isinstance(separator, str) for separator in separators):
        raise ConfigError(where, f"is {separators!r}", 'a list of texts, like ["\\n\\n", " ", ""]')
    if "" in separators[:-1]:
        raise ConfigError(where, "the empty separator cuts everywhere; later ones are not used", "put it last or leave it out")
