"""Cuts a Markdown or plain text document along its structure: sections, blocks, then items, rows, lines and sentences."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from rag.components.chunkers.fixed import windows
from rag.components.chunkers.structure import KEPT, Structure
from rag.components.chunkers.token import Tokens, counting
from rag.core.checks import check_choice, check_whole
from rag.core.errors import ConfigError
from rag.core.text.languages import check_language
from rag.core.text.sentences import Piece, trimmed
from rag.core.types import Document, Span


class MarkdownChunker:
    """Packs neighbours of one level into chunks of at most `size` characters; what is longer is cut one level deeper.

    The levels are sections from the outermost to the innermost, blocks with what belongs to them, blocks, items and rows,
    lines, sentences, words, and last characters. So a chunk holds parts of several sections only if it holds each of them
    whole, and they are below one heading, or are outermost.

    Headings stay with the text below them, if it is only a few words of it, and the header of a table with its first row. As
    far as both fit into `size`, a table stays with its caption, a quote with the line that names its author, a footnote with
    the block above that refers to it, and a paragraph that ends with a colon with the list, table, code or quote below it.

    A block of a kind in `kept` (table, code, quote), with its headings and caption, is not cut up to `whole` characters, even
    if it is longer than `size`; nor is the header of a table with its first row. A longer table is cut between rows, into
    chunks of up to `whole` characters if tables are kept. With `rows`, each group of `rows` rows is a chunk, the first one with
    the header, and a caption above is part of the text before the table. `overlap` is filled with whole pieces of the chunk
    before, never with rows.

    `size`, `overlap` and `whole` are tokens of `embedder`, if there is one; the tokens of a chunk are all that touch it.
    """

    def __init__(
        self,
        size: int = 800,
        overlap: int = 0,
        kept: Sequence[str] = ("code", "quote"),
        whole: int = 1600,
        rows: int | None = None,
        language: str = "english",
        embedder: object | None = None,
    ) -> None:
        check_whole("chunker.size", size, 1)
        check_whole("chunker.overlap", overlap, 0, size - 1, f"less than size={size}")
        check_whole("chunker.whole", whole, 0)
        if not isinstance(kept, (list, tuple)):
            raise ConfigError("chunker.kept", f"is {kept!r}", "a list of kinds, like [code, quote]")
        for kind in kept:
            check_choice("chunker.kept", kind, KEPT)
        if rows is not None:
            check_whole("chunker.rows", rows, 1, hint="or null for no groups")
        check_language("chunker.language", language)
        self.size, self.overlap, self.kept, self.whole, self.rows = size, overlap, tuple(kept), whole, rows
        self.language, self.embedder = language, None if embedder is None else counting(embedder)

    def chunk(self, document: Document) -> list[Span]:
        """Chunks in reading order."""
        text = document.text
        if not text.strip():
            return []
        tokens = Tokens.of(self.embedder.token_offsets(text)) if self.embedder else None
        structure = Structure.of(text, self.size, self.kept, self.rows, self.language, tokens)
        cuts = (trimmed(text, *piece) for piece in self._cut(structure, trimmed(text, 0, len(text)), 0))
        # Overlapping windows of characters may differ only in white space: each is kept once.
        return [Span(document.doc_id, start, end) for start, end in dict.fromkeys(cuts) if start < end]

    def _limit(self, structure: Structure, piece: Piece) -> int:
        return max(self.size, self.whole) if structure.keeps(piece) else self.size

    def _fits(self, structure: Structure, piece: Piece) -> bool:
        start, end = piece
        return structure.length(piece) <= self._limit(structure, piece) and structure.group_end(start) >= end

    def _cut(self, structure: Structure, piece: Piece, level: int) -> Iterator[Piece]:
        if self._fits(structure, piece):
            yield piece
        elif level <= len(structure.levels):
            yield from self._repacked(structure, piece, level)
        else:
            start, end = piece
            limit = self._limit(structure, piece)
            if structure.tokens:
                yield from structure.tokens.cut(structure.text, piece, limit)
            else:
                yield from ((start + a, start + b) for a, b in windows(end - start, limit, limit - self.overlap))

    def _repacked(self, structure: Structure, piece: Piece, level: int) -> Iterator[Piece]:
        limit = self._limit(structure, piece)
        short: list[Piece] = []
        for part in structure.parts(piece, level):
            if self._fits(structure, part):
                short.append(part)
            else:
                yield from self._packed(structure, short, limit)
                yield from self._cut(structure, part, level + 1)
                short = []
        yield from self._packed(structure, short, limit)

    def _packed(self, structure: Structure, short: list[Piece], limit: int) -> Iterator[Piece]:
        starts, ends = [start for start, _ in short], [end for _, end in short]
        begins, stops = structure.measured(short)
        first = following = 0
        while following < len(short):
            fitting = bisect_right(stops, begins[first] + limit, following)
            following = max(min(fitting, bisect_right(ends, structure.group_end(starts[first]), following)), following + 1)
            last = following - 1
            yield starts[first], ends[last]
            if following < len(short):
                room = max(stops[last] - self.overlap, stops[following] - limit)
                row = bisect_left(starts, structure.row_before(starts[following]), first + 1, following)
                first = max(bisect_left(begins, room, first + 1, following), row)
