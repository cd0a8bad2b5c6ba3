"""Which of the passages that were found fit into a prompt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.corpus import Corpus
from rag.records import Chunk, Hit, Ranking
from rag.tokens import borders, count

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


def pack(hits: Sequence[tuple[int, float]], corpus: Corpus, tokens: int | None) -> Packed:
    """Take passages, best first, group by group: a hit with its neighbours; all of them where `tokens` is None.

    A group is a run of the ranking whose chunks lie next to each other in one document. It goes in whole or not at all, and the
    first that has no room ends it: what is read is always the beginning of what was found, and more tokens never take a passage
    away. The first group goes in whatever its length: if it has no room its best chunks do, and the one at
    which the tokens end is cut behind its last token. Tokens are those of the passages, without what a prompt or a guard adds.
    """
    if tokens is None:
        return _packed(hits, corpus, len(hits))
    room, stop = tokens, 0
    for start, end in groups(hits, corpus):
        room -= sum(count(corpus.text(position)) for position, _ in hits[start:end])
        if room < 0:
            break
        stop = end
    return _packed(hits, corpus, stop) if stop or not hits else _shortened(hits, corpus, tokens)


def groups(hits: Sequence[tuple[int, float]], corpus: Corpus) -> Iterator[tuple[int, int]]:
    """The groups of a ranking as [start, end)."""
    start = 0
    for end in range(1, len(hits) + 1):
        if end == len(hits) or not _touches([position for position, _ in hits[start:end]], hits[end][0], corpus):
            yield start, end
            start = end


def _touches(group: Sequence[int], position: int, corpus: Corpus) -> bool:
    """Whether a chunk lies next to one of a group, in the same document."""
    return any(abs(position - one) == 1 and corpus.doc[position] == corpus.doc[one] for one in group)


def _packed(hits: Sequence[tuple[int, float]], corpus: Corpus, stop: int) -> Packed:
    chunks = corpus.chunks([position for position, _ in hits[:stop]])
    return Packed(tuple(hits[:stop]), chunks, tuple(chunk.text for chunk in chunks), tuple(hits[stop:]))


def _shortened(hits: Sequence[tuple[int, float]], corpus: Corpus, tokens: int) -> Packed:
    """The best chunks of the first group, the last of them cut behind as many tokens as there is room for."""
    _, end = next(groups(hits, corpus))
    kept: dict[int, Chunk] = {}
    # Neighbours share the score of their hit, which stands between them.
    for rank in sorted(range(end), key=lambda rank: (-hits[rank][1], abs(2 * rank - end + 1))):
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
