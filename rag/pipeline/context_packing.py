"""Which of the passages that were found fit into a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rag.core.corpus import Corpus
from rag.core.records import Chunk, Hit, Ranking
from rag.core.text.tokens import borders, count

Hits = tuple[tuple[int, float], ...]
"""Positions of chunks with their scores, best first."""


@dataclass(frozen=True)
class Packed:
    """Passages that are read, with the texts that are shown (one of them cut where it had to be), and those without room.

    `chunks` are what is read as it is shown: the span of a chunk that was cut ends where its text does.
    """

    read: Hits
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]
    left_out: Hits = ()


def pack(hits: Sequence[tuple[int, float]], corpus: Corpus, tokens: int | None, ranks: Sequence[int] = ()) -> Packed:
    """Take passages, best first, group by group: a hit with its neighbours; all of them where `tokens` is None.

    `ranks` tell which passages are one group: those of one rank, where they are given. A group goes in whole or not at all, and
    the first that has no room ends it: what is read is always the beginning of what was found, and more tokens never take a
    passage away. The first group goes in whatever its length: if it has no room its best chunks do, and the one at
    which the tokens end is cut behind its last token. Tokens are those of the passages, without what a prompt or a guard adds.
    """
    if tokens is None or not hits:
        return _packed(hits, corpus, len(hits))
    room, stop, sizes = tokens, 0, _sizes(ranks or range(len(hits)))
    for size in sizes:
        room -= sum(count(corpus.text(position)) for position, _ in hits[stop : stop + size])
        if room < 0:
            break
        stop += size
    return _packed(hits, corpus, stop) if stop else _shortened(hits, sizes[0], corpus, tokens)


def _sizes(ranks: Sequence[int]) -> list[int]:
    return [len(list(group)) for _, group in groupby(ranks)]


def _packed(hits: Sequence[tuple[int, float]], corpus: Corpus, stop: int) -> Packed:
    chunks = corpus.chunks([position for position, _ in hits[:stop]])
    return Packed(tuple(hits[:stop]), chunks, tuple(chunk.text for chunk in chunks), tuple(hits[stop:]))


def _shortened(hits: Sequence[tuple[int, float]], size: int, corpus: Corpus, tokens: int) -> Packed:
    """The best chunks of the first group, the last of them cut behind as many tokens as there is room for."""
    kept: dict[int, Chunk] = {}
    # The hit stands first, and what lies next to it says more than what lies further off.
    for rank in sorted(range(size), key=lambda rank: abs(hits[rank][0] - hits[0][0])):
        chunk = corpus.chunk(hits[rank][0])
        ends = borders(chunk.text)
        kept[rank] = chunk if len(ends) <= tokens else cut(chunk, chunk.span.start + ends[tokens - 1])
        tokens -= len(ends)
        if tokens <= 0:
            break
    read = sorted(kept)
    chunks = tuple(kept[rank] for rank in read)
    left_out = tuple(hit for rank, hit in enumerate(hits) if rank not in kept)
    return Packed(tuple(hits[rank] for rank in read), chunks, tuple(chunk.text for chunk in chunks), left_out)


def cut(chunk: Chunk, end: int) -> Chunk:
    """A chunk up to a character of its document; the chunk itself where it ends there."""
    if end >= chunk.span.end:
        return chunk
    return replace(chunk, span=replace(chunk.span, end=end), text=chunk.text[: end - chunk.span.start])


def hits(corpus: Corpus, found: Sequence[tuple[int, float]], ends: Sequence[int] = ()) -> Ranking:
    """Positions as passages; `ends` are where they end as they are shown, where one of them was cut."""
    chunks = [corpus.chunk(position) for position, _ in found]
    shown = map(cut, chunks, ends) if ends else chunks
    return tuple(Hit(chunk, score) for chunk, (_, score) in zip(shown, found, strict=True))
