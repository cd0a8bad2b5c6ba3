"""Reads on around every hit: small chunks are found better, larger stretches are read better."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings

MOST = 1000
"""Neighbours on one side: every hit takes memory for all of them."""


class NeighboursSelector:
    """Puts up to `before` chunks before and `after` chunks behind every hit, each a context of its own.

    A neighbour stands next to the hit in the same document, and the two have text, headings aside, of one section. Neighbours
    stand behind their hit in reading order and share its rank and its score: a cut at k takes k hits and their neighbours.
    A chunk stands once, at the best of its ranks.
    """

    widens: ClassVar[bool] = True
    """Gives back chunks that were not ranked."""

    def __init__(self, before: int = 1, after: int = 1) -> None:
        for name, value in (("before", before), ("after", after)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
                raise ConfigError(f"selector.neighbours.{name}", f"found {value!r}", f"a whole number from 0 to {MOST}")
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
    """Every hit replaced by its neighbours at `steps`, NOTHING where there is none; shape (questions, hits * steps)."""
    near = hits[:, :, None].astype(np.int64) + steps
    inside = (hits[:, :, None] != NOTHING) & (near >= 0) & (near < len(corpus))
    known = np.unique(near[inside])
    first, last = np.array([corpus.reach(position) for position in known.tolist()], np.int64).reshape(-1, 2).T
    documents = corpus.doc[known]

    def of(values: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.take(np.append(values, -1), np.searchsorted(known, places), mode="clip")

    home = np.where(inside, hits[:, :, None], NOTHING)
    earlier, later = np.minimum(near, home), np.maximum(near, home)
    shared = (of(documents, near) == of(documents, home)) & (of(first, later) <= of(last, earlier))
    found = np.where(inside & shared, near, NOTHING).astype(np.int32)
    return found.reshape(len(hits), hits.shape[1] * len(steps))


def _without_repeats(positions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rows in which every position but the first of its kind is NOTHING."""
    order = np.argsort(positions, axis=1, kind="stable")
    ranked = np.take_along_axis(positions, order, axis=1)
    ranked[:, 1:][ranked[:, 1:] == ranked[:, :-1]] = NOTHING
    kept = np.empty_like(positions)
    np.put_along_axis(kept, order, ranked, axis=1)
    return kept
