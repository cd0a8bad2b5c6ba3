"""Fusion by normalised scores."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.components.fusion.weights import check_count, check_weights
from rag.core.checks import check_choice
from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings, merged

Column = NDArray[np.float64]
"""One value per question, shape (questions, 1)."""

Normalised = tuple[NDArray[np.float64], Column]
"""The normalised scores of a ranking, and the score of a chunk that the ranking does not hold."""


class WeightedFusion:
    """A convex combination of scores that are normalised per question over the hits of each index (Bruch et al. 2023).

    `min_max` maps them to [0, 1] (1 where all are equal); `max` divides by the best and counts what is not above 0 as 0;
    `z` subtracts the mean and divides by the standard deviation (0 where all are equal). A chunk that an index did not find
    gets 0 from it, with `z` the lowest value that the index gave to this question.
    """

    def __init__(self, weights: Sequence[float] = (0.5, 0.5), normalisation: str = "min_max") -> None:
        self.weights = check_weights("fusion.weights", weights)
        if abs(sum(weights) - 1) > 1e-9:
            raise ConfigError("fusion.weights", f"{list(weights)} sum to {sum(weights):g}", "weights that sum to 1")
        check_choice("fusion.normalisation", normalisation, NORMALISATIONS)
        self.normalisation = normalisation

    def check(self, names: Sequence[str]) -> None:
        """Raise ConfigError unless there is one weight per index."""
        check_count("fusion.weights", self.weights, names)

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        """Rank the chunks of all indexes by weighted sums; ConfigError as `check`."""
        self.check(list(rankings))
        normalise = NORMALISATIONS[self.normalisation]
        lists = list(rankings.values())
        points, base = [], np.zeros((len(lists[0]), 1))
        for weight, ranking in zip(self.weights, lists, strict=True):
            scores, absent = normalise(ranking.scores, ranking.positions != NOTHING)
            points.append(weight * (scores - absent))
            base = base + weight * absent
        return merged(lists, points, depth, base)


def _edges(scores: NDArray[np.float64], hits: NDArray[np.bool_]) -> tuple[Column, Column]:
    """The lowest and the highest score of each question; 0 for a question without hits."""
    some = hits.any(1, keepdims=True)
    lowest = scores.min(1, keepdims=True, where=hits, initial=np.inf)
    highest = scores.max(1, keepdims=True, where=hits, initial=-np.inf)
    return np.where(some, lowest, 0.0), np.where(some, highest, 0.0)


def _min_max(scores: NDArray[np.float64], hits: NDArray[np.bool_]) -> Normalised:
    lowest, highest = _edges(scores, hits)
    level = highest == lowest
    share = (np.where(hits, scores, lowest) - lowest) / np.where(level, 1.0, highest - lowest)
    return np.where(level, 1.0, share), np.zeros_like(lowest)


def _max(scores: NDArray[np.float64], hits: NDArray[np.bool_]) -> Normalised:
    _, highest = _edges(scores, hits)
    above = highest > 0
    share = np.maximum(np.where(hits, scores, 0.0), 0.0) / np.where(above, highest, 1.0)
    return np.where(above, share, 0.0), np.zeros_like(highest)


def _z(scores: NDArray[np.float64], hits: NDArray[np.bool_]) -> Normalised:
    lowest, highest = _edges(scores, hits)
    number = np.maximum(hits.sum(1, keepdims=True), 1)
    mean = np.where(hits, scores, 0.0).sum(1, keepdims=True) / number
    distance = np.where(hits, scores - mean, 0.0)
    # Equal scores may have a deviation of some 1e-17, which must not become a divisor.
    spread = np.where(highest > lowest, np.sqrt((distance**2).sum(1, keepdims=True) / number), np.inf)
    return distance / spread, (lowest - mean) / spread


NORMALISATIONS: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.bool_]], Normalised]] = {
    "min_max": _min_max,
    "max": _max,
    "z": _z,
}
"""Name → function of the scores and of which of them are hits, both of shape (questions, width)."""
