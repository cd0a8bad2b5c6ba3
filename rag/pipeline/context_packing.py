"""The choice of passages that fit into a prompt."""

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
    """Passages in a prompt, with their texts (the last may be cut), and passages without room.

    `chunks` are the passages as they are shown: the span of a chunk that was cut ends with its text.
    """

    read: Hits
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]
    left_out: Hits = ()


def pack(hits: Sequence[tuple[int, float]], corpus: Corpus, tokens: int | None, ranks: Sequence[int] = ()) -> Packed:
    """Take passages, best first, group by group: a hit with its neighbours; all of them where `tokens` is None.

    Passages of one rank in `ranks` are a group. A group goes in whole or not at all, and the first without room ends the
    packing, so that more tokens never remove a passage. The first group always goes in: if it is too long, its best chunks do,
    and the last of them is cut at a token. Tokens are those of the passages, without what a prompt or a guard adds.
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
    """The best chunks of the first group, the last of them cut after the last token that fits."""
    kept: dict[int, Chunk] = {}
    # The hit comes first; nearer neighbours matter more.
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
    """A chunk up to a character of its document; the chunk itself where it ends before."""
    if end >= chunk.span.end:
        return chunk
    return replace(chunk, span=replace(chunk.span, end=end), text=chunk.text[: end - chunk.span.start])


def hits(corpus: Corpus, scored: Sequence[tuple[int, float]], ends: Sequence[int] = ()) -> Ranking:
    """Positions with scores as passages; `ends` are their ends as shown, where one may be cut."""
    chunks = [corpus.chunk(position) for position, _ in scored]
    shown = map(cut, chunks, ends) if ends else chunks
    return tuple(Hit(chunk, score) for chunk, (_, score) in zip(shown, scored, strict=True))
