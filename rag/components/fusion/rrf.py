"""Fusion by ranks."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.components.fusion.weights import check_count, check_weights
from rag.core.checks import check_number
from rag.core.rankings import Rankings, merged


class ReciprocalRankFusion:
    """Sums weight / (k + rank) over the indexes that found a chunk, ranks from 1 (Cormack, Clarke and Buettcher 2009).

    It does not read scores, so indexes need no common scale. Without `weights` every index counts 1.
    """

    def __init__(self, k: float = 60, weights: Sequence[float] | None = None) -> None:
        check_number("fusion.k", k, 0, hint="60 is usual")
        self.k = k
        self.weights = None if weights is None else check_weights("fusion.weights", weights)

    def check(self, names: Sequence[str]) -> None:
        """Raise ConfigError unless there is one weight per index."""
        if self.weights is not None:
            check_count("fusion.weights", self.weights, names)

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        """Rank the chunks of all indexes; ConfigError as `check`."""
        self.check(list(rankings))
        lists = list(rankings.values())
        weights = self.weights or (1.0,) * len(lists)
        return merged(lists, [self._points(*pair) for pair in zip(lists, weights, strict=True)], depth)

    def _points(self, ranking: Rankings, weight: float) -> NDArray[np.float64]:
        ranks = np.arange(1, ranking.positions.shape[1] + 1, dtype=np.float64)
        return np.broadcast_to(weight / (self.k + ranks), ranking.positions.shape)
