"""Reads on around every hit: small chunks are found better, larger stretches are read better."""

from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.corpus import Corpus
from rag.errors import ConfigError
from rag.rankings import NOTHING, Rankings
from rag.selectors.width import narrowed


class NeighboursSelector:
    """Puts up to `before` chunks before and `after` chunks behind every hit, each a context of its own.

    Neighbours stand next to the hit in the same document under the same headings, without another section between. A group
    shares the score of its hit and stands in reading order; a chunk that an earlier group holds is not repeated. Groups of
    equal scores are one group.
    """

    widens: ClassVar[bool] = True
    """Gives back chunks that were not ranked."""

    def __init__(self, before: int = 1, after: int = 1) -> None:
        for name, value in (("before", before), ("after", after)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ConfigError(f"selector.{name}", f"found {value!r}", "a whole number of at least 0")
        self.before, self.after = before, after

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Every hit with its neighbours, the best group first; rows grow up to (before + 1 + after) times as long."""
        positions = _grouped(rankings.positions, np.arange(-self.before, self.after + 1), corpus)
        scores = np.repeat(rankings.scores, self.before + 1 + self.after, axis=1)
        widened = Rankings.ordered(_without_repeats(positions), scores, positions.shape[1])
        return narrowed(widened.positions, widened.scores)


def _grouped(hits: NDArray[np.int32], steps: NDArray[np.int64], corpus: Corpus) -> NDArray[np.int64]:
    """Every hit replaced by its neighbours at `steps`, NOTHING where there is none; shape (questions, hits * steps)."""
    near = hits[:, :, None].astype(np.int64) + steps
    inside = (hits[:, :, None] != NOTHING) & (near >= 0) & (near < len(corpus))
    known = np.unique(near[inside])
    runs = _runs(known, corpus)
    at = np.searchsorted(known, np.where(inside, near, hits[:, :, None]))
    home = np.searchsorted(known, hits)[:, :, None]
    same = inside & (np.take(runs, at, mode="clip") == np.take(runs, home, mode="clip"))
    return np.where(same, near, NOTHING).reshape(len(hits), hits.shape[1] * len(steps))


def _runs(positions: NDArray[np.int64], corpus: Corpus) -> NDArray[np.int64]:
    """A number for every position, shared by those that stand next to each other in one section of one document."""
    sections = [corpus.section(position) for position in positions.tolist()]
    changed = np.array([a != b for a, b in pairwise(sections)], dtype=bool)
    docs = corpus.doc[positions]
    borders = changed | (np.diff(positions) != 1) | (np.diff(docs) != 0)
    return np.concatenate([[0], np.cumsum(borders)])


def _without_repeats(positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in which every position but the first of its kind is NOTHING."""
    order = np.argsort(positions, axis=1, kind="stable")
    ranked = np.take_along_axis(positions, order, axis=1)
    ranked[:, 1:][ranked[:, 1:] == ranked[:, :-1]] = NOTHING
    kept = np.empty_like(positions)
    np.put_along_axis(kept, order, ranked, axis=1)
    return kept
