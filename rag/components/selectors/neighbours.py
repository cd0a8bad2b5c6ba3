"""Adds the chunks around every hit: small chunks are easier to find, longer passages are easier to read."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.rankings import NOTHING, Rankings

MOST = 1000
"""The most neighbours on one side: every hit takes memory for all of them."""


class NeighboursSelector:
    """Adds up to `before` chunks before and `after` chunks behind every hit, each a context of its own.

    A neighbour is next to the hit in the same document, and both have text, headings aside, of one section. Neighbours
    follow their hit in reading order and share its rank and its score: a cut at k takes k hits and their neighbours.
    A chunk occurs once, at the best of its ranks.
    """

    widens: ClassVar[bool] = True
    """It adds chunks that were not ranked."""

    def __init__(self, before: int = 1, after: int = 1) -> None:
        check_whole("selector.neighbours.before", before, 0, MOST)
        check_whole("selector.neighbours.after", after, 0, MOST)
        self.before, self.after = before, after

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Every hit with its neighbours behind it; rows grow up to (before + 1 + after) times as long."""
        steps = np.array([0, *range(-self.before, 0), *range(1, self.after + 1)])
        positions = _without_repeats(_around(rankings.positions, steps, corpus))
        scores = np.repeat(rankings.scores, len(steps), axis=1)
        ranks = rankings.ranks
        if ranks is None:
            ranks = np.broadcast_to(np.arange(1, rankings.positions.shape[1] + 1), rankings.positions.shape)
        widened = Rankings(positions, scores, np.repeat(ranks, len(steps), axis=1).astype(np.int32))
        return widened.where(positions != NOTHING)


def _around(hits: NDArray[np.int32], steps: NDArray[np.int64], corpus: Corpus) -> NDArray[np.int32]:
    """Every hit replaced by its neighbours at `steps`, NOTHING if there is none; shape (questions, hits * steps)."""
    near = hits[:, :, None].astype(np.int64) + steps
    inside = (hits[:, :, None] != NOTHING) & (near >= 0) & (near < len(corpus))
    known = np.unique(near[inside])
    first, last = np.array([corpus.reach(position) for position in known.tolist()], np.int64).reshape(-1, 2).T
    documents = corpus.doc[known]

    def value_at(values: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.take(np.append(values, -1), np.searchsorted(known, places), mode="clip")

    home = np.where(inside, hits[:, :, None], NOTHING)
    earlier, later = np.minimum(near, home), np.maximum(near, home)
    shared = (value_at(documents, near) == value_at(documents, home)) & (value_at(first, later) <= value_at(last, earlier))
    neighbours = np.where(inside & shared, near, NOTHING).astype(np.int32)
    return neighbours.reshape(len(hits), hits.shape[1] * len(steps))


def _without_repeats(positions: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows with every repeated position replaced by NOTHING."""
    order = np.argsort(positions, axis=1, kind="stable")
    ranked = np.take_along_axis(positions, order, axis=1)
    ranked[:, 1:][ranked[:, 1:] == ranked[:, :-1]] = NOTHING
    kept = np.empty_like(positions)
    np.put_along_axis(kept, order, ranked, axis=1)
    return kept
