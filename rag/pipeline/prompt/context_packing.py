"""The passages that a prompt shows: chunks that belong together as one, as many as fit."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.text.tokens import borders, count
from rag.core.types import Chunk, Hit, Ranking

Hits = tuple[tuple[int, float], ...]
"""Positions of chunks with their scores, best first."""


@dataclass(frozen=True)
class Passage:
    """Chunks that are shown as one text, the best first and the others in reading order, with rank and score of their hit."""

    positions: tuple[int, ...]
    rank: int
    score: float

    def chunk(self, corpus: Corpus) -> Chunk:
        """The text from the first to the last character of its chunks."""
        return corpus.chunk(min(self.positions), max(int(corpus.end[position]) for position in self.positions))


def passages(rankings: Rankings, question: int, corpus: Corpus) -> list[Passage]:
    """The passages of one question, best first: every chunk, or the joined chunks of one rank that touch or overlap."""
    placed = rankings.placed(question)
    joined = set() if rankings.joined is None else set(rankings.positions[question][rankings.joined[question]].tolist())
    order = {position: number for number, position in enumerate(placed)}
    found: list[Passage] = []
    for (rank, score), group in groupby(placed, key=placed.__getitem__):
        members = list(group)
        pieces = [[position] for position in members if position not in joined]
        pieces += [sorted(piece, key=order.__getitem__) for piece in _touching(joined.intersection(members), corpus)]
        found += [Passage(tuple(piece), rank, score) for piece in sorted(pieces, key=lambda piece: order[piece[0]])]
    return found


def _touching(positions: Iterable[int], corpus: Corpus) -> list[list[int]]:
    """Positions in runs of one document, with nothing but white space between their chunks."""
    runs: list[list[int]] = []
    row = reached = -1
    for position in sorted(positions):
        start, end = int(corpus.start[position]), int(corpus.end[position])
        if int(corpus.doc[position]) == row and not corpus.documents[row].text[reached:start].strip():
            runs[-1].append(position)
        else:
            runs.append([position])
            row, reached = int(corpus.doc[position]), end
        reached = max(reached, end)
    return runs


@dataclass(frozen=True)
class Packed:
    """Passages in a prompt, with their texts (the last may be cut), and passages without room.

    `read` and `left_out` hold the first chunk of each. `chunks` are the passages as they are shown: the span of one that was
    cut ends with its text.
    """

    read: Hits
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]
    left_out: Hits = ()


def pack(found: Sequence[Passage], corpus: Corpus, tokens: int | None) -> Packed:
    """Take passages, best first, group by group: a hit with its neighbours; all of them where `tokens` is None.

    Passages of one rank are a group. A group goes in whole or not at all, and the first without room ends the packing, so that
    more tokens never remove a passage. The first group always goes in: if it is too long, its best chunks do, and the last of
    them is cut at a token. Tokens are those of the passages, without what a prompt or a guard adds.
    """
    whole = [(passage, passage.chunk(corpus)) for passage in found]
    if tokens is None or not found:
        return _packed(whole, ())
    room, stop = tokens, 0
    sizes = [len(list(group)) for _, group in groupby(passage.rank for passage in found)]
    for size in sizes:
        room -= sum(count(chunk.text) for _, chunk in whole[stop : stop + size])
        if room < 0:
            break
        stop += size
    if stop:
        return _packed(whole[:stop], found[stop:])
    return _packed(_shortened(found[: sizes[0]], corpus, tokens), found)


def _packed(shown: Sequence[tuple[Passage, Chunk]], others: Sequence[Passage]) -> Packed:
    read = {position for passage, _ in shown for position in passage.positions}
    left = [(min(one.positions), one.score) for one in others if read.isdisjoint(one.positions)]
    chunks = tuple(chunk for _, chunk in shown)
    starts = tuple((min(passage.positions), passage.score) for passage, _ in shown)
    return Packed(starts, chunks, tuple(chunk.text for chunk in chunks), tuple(left))


def _shortened(group: Sequence[Passage], corpus: Corpus, tokens: int) -> list[tuple[Passage, Chunk]]:
    """The best chunks of the first group, the last of them cut after the last token that fits."""
    hit, ends, last = group[0].positions[0], dict[int, int](), -1
    # The hit comes first; nearer neighbours matter more.
    for position in sorted((each for one in group for each in one.positions), key=lambda each: abs(each - hit)):
        chunk = corpus.chunk(position)
        tops = borders(chunk.text)
        ends[position] = chunk.span.end if len(tops) <= tokens else chunk.span.start + tops[tokens - 1]
        tokens, last = tokens - len(tops), position
        if tokens <= 0:
            break
    shown = []
    for passage in group:
        kept = tuple(position for position in passage.positions if position in ends)
        if len(kept) > 1 and last in kept and last < max(kept) and ends[last] < corpus.end[last]:
            kept = tuple(position for position in kept if position != last)  # A text has no gap.
        if kept:
            end = max(ends[position] for position in kept)
            shown.append((replace(passage, positions=kept), corpus.chunk(min(kept), end)))
    return shown


def hits(corpus: Corpus, scored: Sequence[tuple[int, float]], ends: Sequence[int] = ()) -> Ranking:
    """Positions with scores as passages; `ends` are their ends as shown, where one may be cut or hold several chunks."""
    shown: Sequence[int | None] = ends or [None] * len(scored)
    return tuple(Hit(corpus.chunk(position, end), score) for (position, score), end in zip(scored, shown, strict=True))


def shown_chunks(corpus: Corpus, position: int, end: int) -> range:
    """The positions of the chunks in a passage from the chunk at `position` to a character: that chunk, and all whole ones."""
    last = int(np.searchsorted(corpus.doc, corpus.doc[position], "right"))
    return range(position, max(position + 1, bisect_right(corpus.end, end, position, last)))
