"""How well scores agree with labels of yes and no, with intervals and paired p-values by cluster bootstrap. Pure arithmetic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.evaluation.statistics.resampling import AT_ONCE, DRAWS, effective, expanded

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
TAIL = 0.025
WILSON = 1.959964**2
"""The square of the normal deviate that TAIL lies beyond."""
ROWS = 256
"""Cases that are held against all others at once."""
BINS = 10
"""Parts of [0, 1] in which scores are compared with labels."""
CELLS = 1 << 21
"""Weights that are drawn at once, cases times draws."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; NaN where nothing can be known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Estimate):
    """How much more one value is than another on the same cases, with the two-sided p-value that it is not."""

    p: float


class Resampled:
    """Cases in whole clusters, drawn with replacement: `draws` rows of how often each case was drawn, after one row of ones."""

    def __init__(self, clusters: Sequence[str], draws: int = DRAWS, seed: int = 0) -> None:
        _, self._cluster = np.unique(np.array(clusters, np.str_), return_inverse=True)
        self._counts = np.bincount(self._cluster).astype(np.float64)
        self._draws, self._seed = draws, seed

    def values(self, statistic: "Statistic") -> Floats:
        """A statistic on the cases themselves, then on every draw: shape (1 + draws,). The same draws for every statistic."""
        random = np.random.default_rng([self._seed, 3])
        groups, at_once = len(self._counts), min(AT_ONCE, max(1, CELLS // len(self._cluster)))
        found = [statistic(np.ones((1, len(self._cluster))))]
        for first in range(0, self._draws, at_once):
            rows = min(at_once, self._draws - first)
            drawn = random.multinomial(groups, np.full(groups, 1 / groups), rows).astype(np.float64)
            found.append(statistic(drawn[:, self._cluster]))
        return np.concatenate(found)

    def measured(self, statistic: "Statistic") -> Estimate:
        """A statistic with its interval, that of Wilson (1927) where it is 0 or 1 and no draw knows otherwise.

        Of four texts that are all right the bootstrap would make [1, 1]. Texts of one cluster count as less than that many
        (`effective`); away from what chance alone gives, the interval is as much longer.
        """
        values = self.values(statistic)
        found, end = self.estimate(values), float(values[0])
        known = values[~np.isnan(values)]
        if len(self._counts) < 2 or end not in statistic.ends or (known != end).any():
            return found
        equal = effective(np.bincount(self._cluster[statistic.cases]).astype(np.float64)[:, None])[0]
        reach = float(WILSON / (equal + WILSON)) / (1 - statistic.chance)
        return Estimate(end, end - reach, end) if end else Estimate(end, end, end + reach)

    def estimate(self, values: Floats) -> Estimate:
        """The percentile interval, expanded for few clusters (Hesterberg, The American Statistician 69, 2015)."""
        draws = values[1:][~np.isnan(values[1:])]
        if len(self._counts) < 2 or not len(draws):
            return Estimate(float(values[0]), float("nan"), float("nan"))
        tail = float(expanded(np.array([TAIL]), effective(self._counts[:, None]))[0])
        low, high = np.quantile(draws, [tail, 1 - tail])
        return Estimate(float(values[0]), float(low), float(high))

    def difference(self, ours: Floats, theirs: Floats) -> Difference:
        """Of two statistics of the same draws: twice the smaller share of draws on one side of 0.

        It is never below 1 / draws, nor below what swapping the two in whole clusters could give at best, 2 / 2^clusters.
        """
        values = ours - theirs
        found, draws = self.estimate(values), values[1:][~np.isnan(values[1:])]
        beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
        least = 2.0 ** (1 - len(self._counts))
        p = max(least, min(1.0, 2 * (1 + beyond) / (1 + len(draws)))) if len(self._counts) > 1 else float("nan")
        return Difference(found.value, found.low, found.high, p)


class Statistic:
    """A function of weights, shape (draws, cases), to one value per draw.

    At one of its `ends` it is the share of some `cases`, beyond what `chance` would give.
    """

    ends: tuple[float, ...] = ()
    cases: Bools
    chance: float = 0.0

    def __call__(self, weights: Floats) -> Floats:
        """Shape (draws,)."""
        raise NotImplementedError


class Auc(Statistic):
    """The probability that a case with the label yes scores above one without it, ties counted half (Mann & Whitney 1947)."""

    def __init__(self, scores: Floats, labels: Bools) -> None:
        self._order = np.argsort(scores, kind="stable")
        ordered = scores[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._labels = labels[self._order]
        self.ends = (0.0, 1.0)
        self.cases = labels if labels.sum() * 2 <= len(labels) else ~labels

    def __call__(self, weights: Floats) -> Floats:
        """NaN for draws with labels of one kind only."""
        ordered = weights[:, self._order]
        yes = np.add.reduceat(ordered * self._labels, self._starts, axis=1)
        no = np.add.reduceat(ordered * ~self._labels, self._starts, axis=1)
        below = np.cumsum(no, axis=1) - no / 2
        pairs = yes.sum(axis=1) * no.sum(axis=1)
        return _ratio((yes * below).sum(axis=1), pairs)


class Decisions(Statistic):
    """What follows from saying yes: `kappa` (Cohen 1960), `sensitivity`, `specificity` or `accuracy`."""

    def __init__(self, said: Bools, labels: Bools, name: str) -> None:
        self._cells = [said & labels, said & ~labels, ~said & labels, ~said & ~labels]
        self._name = name
        self.ends = (1.0,) if name == "kappa" else (0.0, 1.0)
        self.cases = {"sensitivity": labels, "specificity": ~labels}.get(name, np.ones(len(labels), np.bool_))
        self.chance = float(labels.mean() ** 2 + (1 - labels.mean()) ** 2) if name == "kappa" else 0.0

    def __call__(self, weights: Floats) -> Floats:
        """NaN where the denominator is 0."""
        hit, false, missed, right = (weights @ cell.astype(np.float64) for cell in self._cells)
        total = hit + false + missed + right
        if self._name == "sensitivity":
            return _ratio(hit, hit + missed)
        if self._name == "specificity":
            return _ratio(right, right + false)
        if self._name == "accuracy":
            return _ratio(hit + right, total)
        chance = ((hit + false) * (hit + missed) + (missed + right) * (false + right)) / total
        return _ratio(hit + right - chance, total - chance)


class RankCorrelation(Statistic):
    """How alike two scores order the cases, ties counted half: `spearman` (1904) or `kendall`, tau-b (1945).

    Cases of one of the `clusters` have the same weight in every draw; without clusters each case is one.
    """

    def __init__(self, ours: Floats, theirs: Floats, name: str, clusters: Sequence[str] | None = None) -> None:
        names = np.arange(len(ours)) if clusters is None else np.array(clusters, np.str_)
        _, self._first, self._cluster = np.unique(names, return_index=True, return_inverse=True)
        self._scores = ours, theirs
        self._ties = [np.unique(scores, return_inverse=True)[1] for scores in self._scores]
        self._pairs = self._concordant() if name == "kendall" else None

    def _concordant(self) -> Floats:
        """Pairs that both scores order alike, less those that they order otherwise, by the clusters of the two cases."""
        order = np.argsort(self._cluster, kind="stable")
        starts = np.flatnonzero(np.diff(self._cluster[order], prepend=-1))
        held = np.zeros((len(starts), len(starts)))
        for first in range(0, len(order), ROWS):
            rows = order[first : first + ROWS]
            alike = np.prod([np.sign(scores[rows, None] - scores[order]) for scores in self._scores], axis=0)
            np.add.at(held, self._cluster[rows], np.add.reduceat(alike, starts, axis=1))
        return held

    def __call__(self, weights: Floats) -> Floats:
        """NaN for draws in which one of the scores is the same everywhere."""
        if self._pairs is None:
            first, second = (_above(weights, ties) for ties in self._ties)
            both, one, other = ((weights * product).sum(axis=1) for product in (first * second, first**2, second**2))
        else:
            counts = weights[:, self._first]
            both = ((counts @ self._pairs) * counts).sum(axis=1)
            one, other = (weights.sum(axis=1) ** 2 - (_tied(weights, ties) ** 2).sum(axis=1) for ties in self._ties)
        return _ratio(both, np.sqrt(one * other))


def calibration_error(scores: Floats, labels: Bools) -> float:
    """The expected calibration error: how far the mean score of a tenth of [0, 1] is from the share of yes there, on average.

    Guo et al. 2017, "On Calibration of Modern Neural Networks".
    """
    part = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    sums = np.bincount(part, scores - labels, BINS)
    return float(np.abs(sums).sum() / len(scores))


def _tied(weights: Floats, ties: NDArray[np.int64]) -> Floats:
    """The weight of each distinct score, in ascending order: shape (draws, scores)."""
    order = np.argsort(ties, kind="stable")
    summed: Floats = np.add.reduceat(weights[:, order], np.flatnonzero(np.diff(ties[order], prepend=-1)), axis=1)
    return summed


def _above(weights: Floats, ties: NDArray[np.int64]) -> Floats:
    """What each case stands above, less what it stands below: its rank, but for scale and origin."""
    own = _tied(weights, ties)
    below = np.cumsum(own, axis=1) - own
    ranks: Floats = (2 * below + own - own.sum(axis=1, keepdims=True))[:, ties]
    return ranks


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return ratio


DECISIONS: Mapping[str, str] = {
    "kappa": "agreement beyond chance",
    "sensitivity": "share of supported texts that the judge calls supported",
    "specificity": "share of unsupported texts that it calls unsupported",
    "accuracy": "share of texts that it calls right",
}
