"""Rankings of many questions at once, as arrays of chunk positions, all in the same order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

NOTHING = -1
"""The position that fills a row after its last hit."""

DIGITS = 6
"""Scores are rounded to so many decimals before they are ordered.

Vectors differ in their last bits with the machine and the batch; a leaderboard must not.
"""


@dataclass(frozen=True)
class Rankings:
    """One ranking per row, best first: (-score, position), no position twice, the end filled with (NOTHING, -inf).

    `positions` int32 and `scores` float64, both of shape (questions, width). If a selector added chunks to hits, `ranks` is
    int32 of that shape and ascending: these have rank and score of their hit, and follow it in reading order. A rank is missing
    if its hit and all that was added to it have better ranks. If `ranks` is None, rank = column + 1. `joined` flags chunks that
    are shown as one passage with the flagged chunks of their rank that they touch; None if every chunk is a passage.
    """

    positions: NDArray[np.int32]
    scores: NDArray[np.float64]
    ranks: NDArray[np.int32] | None = None
    joined: NDArray[np.bool_] | None = None

    @classmethod
    def ordered(cls, positions: ArrayLike, scores: ArrayLike, depth: int) -> "Rankings":
        """Sort candidates of shape (questions, width) by (-rounded score, position) and keep the first `depth`.

        Entries whose position is NOTHING or whose score is -inf are no hits and go to the end.
        """
        places = np.asarray(positions, dtype=np.int32)
        order = np.argsort(places, axis=1, kind="stable")
        values = np.asarray(scores, dtype=np.float64)
        return cls._by_score(np.take_along_axis(places, order, 1), np.take_along_axis(values, order, 1), depth)

    @classmethod
    def _by_score(cls, places: NDArray[np.int32], scores: NDArray[np.float64], depth: int) -> "Rankings":
        """As `ordered`, for rows that ascend by position, so that a stable sort keeps ties in that order."""
        rounded = np.where(places < 0, -np.inf, _rounded(scores))
        order = np.argsort(-rounded, axis=1, kind="stable")[:, :depth]
        best = np.take_along_axis(rounded, order, 1)
        return cls(np.where(np.isneginf(best), NOTHING, np.take_along_axis(places, order, 1)).astype(np.int32), best)

    @classmethod
    def top(cls, scores: NDArray[np.floating[Any]], depth: int) -> "Rankings":
        """Rank every position of a dense score matrix of shape (questions, chunks); a score of -inf is no hit."""
        questions, chunks = scores.shape
        width = min(depth, chunks)
        hits = scores > -np.inf
        if 0 < width < chunks:
            # Ties at the edge are ordered by position, so every score that may round to the last one is a candidate.
            edge = np.partition(scores, chunks - width, axis=1)[:, chunks - width, None].astype(np.float64)
            hits &= scores >= edge - 2 * 10.0**-DIGITS
        rows, places = np.nonzero(hits)
        rounded = _rounded(scores[hits].astype(np.float64))
        order = np.lexsort((-rounded, rows))
        first = np.searchsorted(rows, np.arange(questions))
        rank = np.arange(len(rows)) - first[rows]
        kept = rank < width
        ranked = cls(np.full((questions, width), NOTHING, np.int32), np.full((questions, width), -np.inf))
        ranked.positions[rows[kept], rank[kept]] = places[order][kept]
        ranked.scores[rows[kept], rank[kept]] = rounded[order][kept]
        return ranked

    @classmethod
    def pack(cls, rows: Sequence[Sequence[tuple[int, float]]], width: int = 0) -> "Rankings":
        """One row per ranking of (position, score) pairs in their order; as wide as the longest, and at least `width`."""
        width = max(width, *(len(row) for row in rows), 0)
        positions = np.full((len(rows), width), NOTHING, np.int32)
        scores = np.full((len(rows), width), -np.inf)
        for number, row in enumerate(rows):
            if row:
                positions[number, : len(row)], scores[number, : len(row)] = zip(*row, strict=True)
        return cls(positions, scores)

    def __len__(self) -> int:
        return len(self.positions)

    def row(self, question: int) -> list[tuple[int, float]]:
        """The (position, score) pairs of one question, best first."""
        kept = self.positions[question] != NOTHING
        return list(zip(self.positions[question][kept].tolist(), self.scores[question][kept].tolist(), strict=True))

    def placed(self, question: int) -> dict[int, tuple[int, float]]:
        """The rank, from 1, and the score of every position of one question, best first."""
        positions = self.positions[question][self.positions[question] != NOTHING].tolist()
        ranks = range(1, len(positions) + 1) if self.ranks is None else self.ranks[question].tolist()
        return dict(zip(positions, zip(ranks, self.scores[question].tolist(), strict=False), strict=False))

    def only(self, question: int) -> "Rankings":
        """The ranking of one question."""
        return self.take(np.array([question]))

    def take(self, questions: NDArray[np.int64]) -> "Rankings":
        """The rankings of these rows, in this order."""
        ranks = None if self.ranks is None else self.ranks[questions]
        joined = None if self.joined is None else self.joined[questions]
        return Rankings(self.positions[questions], self.scores[questions], ranks, joined)

    def where(self, kept: NDArray[np.bool_]) -> "Rankings":
        """The entries with `kept`, of shape (questions, width); as wide as the longest remaining row."""
        kept = kept & (self.positions != NOTHING)
        width = int(kept.sum(axis=1).max(initial=0))
        order = np.argsort(~kept, axis=1, kind="stable")[:, :width]
        filled = np.take_along_axis(kept, order, 1)

        def remaining(values: NDArray[Any], fill: float) -> NDArray[Any]:
            return np.where(filled, np.take_along_axis(values, order, 1), fill).astype(values.dtype)

        ranks, joined = (None if values is None else remaining(values, 0) for values in (self.ranks, self.joined))
        return Rankings(remaining(self.positions, NOTHING), remaining(self.scores, -np.inf), ranks, joined)

    def within(self, allowed: NDArray[np.bool_]) -> "Rankings":
        """The rankings without the positions that are not allowed."""
        return self.where(allowed[self.positions])

    def first(self, depth: int) -> "Rankings":
        """The entries with the best `depth` ranks of every row."""
        if self.ranks is None:
            return Rankings(self.positions[:, :depth], self.scores[:, :depth])
        return self.where(self.ranks <= depth)

    def rescored(self, heads: Sequence[Sequence[float]]) -> "Rankings":
        """The first hits of every row by new scores, as many as it has in `heads`.

        The hits behind keep their order and their distances, one below the last of these.
        """
        scores = self.scores.copy()
        for question, values in enumerate(heads):
            scores[question, : len(values)] = values
            tail = slice(len(values), int((self.positions[question] != NOTHING).sum()))
            if len(values) and tail.start < tail.stop:
                # Rounded: scores that differ in their last digit must not become equal and change places.
                scores[question, tail] += round(min(values) - 1.0 - self.scores[question, tail.start], DIGITS)
        return Rankings.ordered(self.positions, scores, self.positions.shape[1])

    def widened(self, around: Callable[[int], tuple[int, int]], join: bool = False) -> "Rankings":
        """Every chunk, and behind it, in reading order, the others from the first to the last position that `around` gives.

        They have its rank and score; a chunk occurs once, at the best of its ranks. `join` flags them all as `joined`.
        """
        spans = {position: around(position) for position in np.unique(self.positions[self.positions != NOTHING]).tolist()}
        rows = [self._widened(question, spans) for question in range(len(self))]
        packed = Rankings.pack([[(position, score) for position, (_, score) in row.items()] for row in rows])
        ranks, joined = np.zeros(packed.positions.shape, np.int32), packed.positions != NOTHING
        for question, row in enumerate(rows):
            ranks[question, : len(row)] = [rank for rank, _ in row.values()]
            if not join and self.joined is not None:
                joined[question] = np.isin(packed.positions[question], self.positions[question][self.joined[question]])
        return Rankings(packed.positions, packed.scores, ranks, joined if join or self.joined is not None else None)

    def _widened(self, question: int, spans: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, float]]:
        """The ranks and scores of one question by position, best first."""
        row: dict[int, tuple[int, float]] = {}
        done = set[tuple[int, int]]()
        for position, known in self.placed(question).items():
            span = spans[position]
            for each in (position, *(range(span[0], span[1] + 1) if span not in done else ())):
                row.setdefault(each, known)
            done.add(span)
        return row


def _rounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.round(scores, DIGITS) + 0.0  # no negative zero
    return rounded


def _own_ranks(part: Rankings) -> NDArray[Any]:
    shape = part.positions.shape
    return np.broadcast_to(np.arange(1, shape[1] + 1), shape) if part.ranks is None else part.ranks


def stacked(parts: Sequence[Rankings]) -> Rankings:
    """The rows of several rankings in one, in their order."""
    width = max((part.positions.shape[1] for part in parts), default=0)

    def together(arrays: Sequence[NDArray[Any]], fill: float) -> NDArray[Any]:
        wide = [np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=fill) for rows in arrays]
        return np.concatenate(wide) if wide else np.empty((0, 0))

    plain = all(part.ranks is None for part in parts)
    ranks = [_own_ranks(part) for part in parts]
    joined = [np.zeros(part.positions.shape, np.bool_) if part.joined is None else part.joined for part in parts]
    return Rankings(
        together([part.positions for part in parts], NOTHING).astype(np.int32),
        together([part.scores for part in parts], -np.inf).astype(np.float64),
        None if plain else together(ranks, 0).astype(np.int32),
        None if all(part.joined is None for part in parts) else together(joined, 0).astype(np.bool_),
    )


def merged(rankings: Sequence[Rankings], points: Sequence[NDArray[np.float64]], depth: int, base: ArrayLike = 0.0) -> Rankings:
    """Rank positions by the sums of their points in all rankings.

    `points[i]` has the shape of `rankings[i]`; `base` is added to every sum, one number or a column with one per question.
    Points are added in the order of the rankings, so sums are the same on every machine.
    """
    positions = np.concatenate([ranking.positions for ranking in rankings], axis=1)
    values = np.concatenate(points, axis=1)
    width = positions.shape[1]
    # To sort (position, column) as one number is ten times as fast as a stable argsort.
    key = np.sort(positions.astype(np.int64) * width + np.arange(width), axis=1)
    positions = (key // max(1, width)).astype(np.int32)
    values = np.take_along_axis(values, key % max(1, width), 1)
    # A position occurs at most once per ranking: add the next entries of a run to its first, one ranking at a time.
    starts = np.ones_like(positions, dtype=bool)
    starts[:, 1:] = positions[:, 1:] != positions[:, :-1]
    total = values.copy()
    for step in range(1, len(rankings)):
        same = positions[:, step:] == positions[:, :-step]
        total[:, :-step] += np.where(same, values[:, step:], 0.0)
    total = np.where(starts, total + np.asarray(base, np.float64), -np.inf)
    return Rankings._by_score(positions, total, depth)
