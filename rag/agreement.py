"""How well scores agree with labels of yes and no, with intervals and paired p-values by cluster bootstrap. Pure arithmetic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.resampling import AT_ONCE, DRAWS, effective, expanded

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
TAIL = 0.025


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
        groups = len(self._counts)
        found = [statistic(np.ones((1, len(self._cluster))))]
        for first in range(0, self._draws, AT_ONCE):
            rows = min(AT_ONCE, self._draws - first)
            drawn = random.multinomial(groups, np.full(groups, 1 / groups), rows).astype(np.float64)
            found.append(statistic(drawn[:, self._cluster]))
        return np.concatenate(found)

    def estimate(self, values: Floats) -> Estimate:
        """The percentile interval, expanded for few clusters (Hesterberg, The American Statistician 69, 2015)."""
        draws = values[1:][~np.isnan(values[1:])]
        if len(self._counts) < 2 or not len(draws):
            return Estimate(float(values[0]), float("nan"), float("nan"))
        tail = float(expanded(np.array([TAIL]), effective(self._counts[:, None]))[0])
        low, high = np.quantile(draws, [tail, 1 - tail])
        return Estimate(float(values[0]), float(low), float(high))

    def difference(self, ours: Floats, theirs: Floats) -> Difference:
        """Of two statistics of the same draws: twice the smaller share of draws on one side of 0, never below 1 / draws."""
        values = ours - theirs
        found, draws = self.estimate(values), values[1:][~np.isnan(values[1:])]
        beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
        p = min(1.0, 2 * (1 + beyond) / (1 + len(draws))) if len(self._counts) > 1 else float("nan")
        return Difference(found.value, found.low, found.high, p)


class Statistic:
    """A function of weights, shape (draws, cases), to one value per draw."""

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
    """How alike two scores order the cases, ties counted half: `spearman` (1904) or `kendall`, tau-b (1945)."""

    def __init__(self, ours: Floats, theirs: Floats, name: str) -> None:
        self._signs = [np.sign(scores[:, None] - scores[None, :]) for scores in (ours, theirs)]
        self._name = name

    def __call__(self, weights: Floats) -> Floats:
        """NaN for draws in which one of the scores is the same everywhere."""
        ours, theirs = self._signs
        if self._name == "kendall":
            both, one, other = (((weights @ table) * weights).sum(axis=1) for table in (ours * theirs, ours**2, theirs**2))
            return _ratio(both, np.sqrt(one * other))
        # What a case stands above, less what it stands below, is its rank, but for scale and origin.
        first, second = (weights @ table.T for table in (ours, theirs))
        both, one, other = ((weights * product).sum(axis=1) for product in (first * second, first**2, second**2))
        return _ratio(both, np.sqrt(one * other))


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return ratio


DECISIONS: Mapping[str, str] = {
    "kappa": "agreement beyond chance",
    "sensitivity": "share of supported texts that the judge calls supported",
    "specificity": "share of unsupported texts that it calls unsupported",
    "accuracy": "share of texts that it calls right",
}
