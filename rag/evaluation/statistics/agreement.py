"""How well scores agree with yes/no labels, with intervals and paired p-values by cluster bootstrap. Pure arithmetic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Flags, Floats
from rag.evaluation.statistics.resampling import AT_ONCE, DRAWS, effective, expanded

TAIL = 0.025
WILSON = 1.959964**2
"""The square of the normal quantile of 1 - TAIL."""
BINS = 10
"""Equal parts of [0, 1] for the calibration error."""
CELLS = 1 << 21
"""Weights that are drawn at once: cases × draws."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; NaN for what is unknown."""

    value: float
    low: float
    high: float

    @property
    def mean(self) -> float:
        """The value, by the name that records of means give it."""
        return self.value


@dataclass(frozen=True)
class Difference(Estimate):
    """One value minus another on the same cases, with a two-sided p-value for no difference."""

    p: float


class Resampled:
    """A cluster bootstrap: whole clusters of cases, drawn `draws` times with replacement."""

    def __init__(self, clusters: Sequence[str], draws: int = DRAWS) -> None:
        _, self._cluster = np.unique(np.array(clusters, np.str_), return_inverse=True)
        self._counts = np.bincount(self._cluster).astype(np.float64)
        self._draws = draws

    def values(self, statistic: "Statistic") -> Floats:
        """A statistic of the cases themselves, then of every draw: shape (1 + draws,). All statistics see the same draws."""
        random = np.random.default_rng([0, 3])
        groups, at_once = len(self._counts), min(AT_ONCE, max(1, CELLS // len(self._cluster)))
        values = [statistic(np.ones((1, len(self._cluster))))]
        for first in range(0, self._draws, at_once):
            rows = min(at_once, self._draws - first)
            drawn = random.multinomial(groups, np.full(groups, 1 / groups), rows).astype(np.float64)
            values.append(statistic(drawn[:, self._cluster]))
        return np.concatenate(values)

    def measured(self, statistic: "Statistic") -> Estimate:
        """A statistic with its interval: Wilson's (1927) if the statistic is 0 or 1 in every draw, else the bootstrap's.

        For four correct texts the bootstrap would give [1, 1]. Texts of one cluster count as fewer texts (`effective`). A
        statistic that corrects for chance has an interval that is longer by the same factor.
        """
        values = self.values(statistic)
        estimate, end = self.estimate(values), float(values[0])
        known = values[~np.isnan(values)]
        if len(self._counts) < 2 or end not in statistic.ends or (known != end).any():
            return estimate
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
        """The difference of two statistics of the same draws; p is twice the smaller share of draws on one side of 0.

        p is at least 1 / draws, and at least 2 / 2^clusters, the least p-value of a sign-flip test with as many clusters.
        """
        values = ours - theirs
        estimate, draws = self.estimate(values), values[1:][~np.isnan(values[1:])]
        beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
        least = 2.0 ** (1 - len(self._counts))
        p = max(least, min(1.0, 2 * (1 + beyond) / (1 + len(draws)))) if len(self._counts) > 1 else float("nan")
        return Difference(estimate.value, estimate.low, estimate.high, p)


class Statistic:
    """A function from weights, shape (draws, cases), to one value per draw.

    `ends` are its extreme values; there it is the share of `cases` that agree, corrected for `chance`.
    """

    ends: tuple[float, ...] = ()
    cases: Flags
    chance: float = 0.0

    def __call__(self, weights: Floats) -> Floats:
        """One value per draw, shape (draws,)."""
        raise NotImplementedError


class Auc(Statistic):
    """The probability that a case with the label yes scores above one without it, ties counted half (Mann & Whitney 1947)."""

    def __init__(self, scores: Floats, labels: Flags) -> None:
        self._order = np.argsort(scores, kind="stable")
        ordered = scores[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._labels = labels[self._order]
        self.ends = (0.0, 1.0)
        self.cases = labels if labels.sum() * 2 <= len(labels) else ~labels

    def __call__(self, weights: Floats) -> Floats:
        """One value per draw; NaN if its labels are all the same."""
        ordered = weights[:, self._order]
        yes = np.add.reduceat(ordered * self._labels, self._starts, axis=1)
        no = np.add.reduceat(ordered * ~self._labels, self._starts, axis=1)
        below = np.cumsum(no, axis=1) - no / 2
        pairs = yes.sum(axis=1) * no.sum(axis=1)
        return ratio((yes * below).sum(axis=1), pairs)


class Decisions(Statistic):
    """Agreement of yes/no decisions with labels: `kappa` (Cohen 1960), `sensitivity`, `specificity` or `accuracy`."""

    def __init__(self, decided: Flags, labels: Flags, name: str) -> None:
        self._cells = [decided & labels, decided & ~labels, ~decided & labels, ~decided & ~labels]
        self._name = name
        self.ends = (1.0,) if name == "kappa" else (0.0, 1.0)
        self.cases = {"sensitivity": labels, "specificity": ~labels}.get(name, np.ones(len(labels), np.bool_))
        self.chance = float(labels.mean() ** 2 + (1 - labels.mean()) ** 2) if name == "kappa" else 0.0

    def __call__(self, weights: Floats) -> Floats:
        """One value per draw; NaN if its denominator is 0."""
        hit, false, missed, right = (weights @ cell.astype(np.float64) for cell in self._cells)
        total = hit + false + missed + right
        if self._name == "sensitivity":
            return ratio(hit, hit + missed)
        if self._name == "specificity":
            return ratio(right, right + false)
        if self._name == "accuracy":
            return ratio(hit + right, total)
        chance = ((hit + false) * (hit + missed) + (missed + right) * (false + right)) / total
        return ratio(hit + right - chance, total - chance)


def calibration_error(scores: Floats, labels: Flags) -> float:
    """The expected calibration error over BINS equal bins (Guo et al. 2017, "On Calibration of Modern Neural Networks")."""
    part = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    sums = np.bincount(part, scores - labels, BINS)
    return float(np.abs(sums).sum() / len(scores))


def ratio(above: Floats, below: Floats) -> Floats:
    """`above` / `below` by element; NaN where `below` is not positive."""
    result: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return result


DECISIONS: Mapping[str, str] = {
    "kappa": "agreement beyond chance",
    "sensitivity": "share of supported texts that the judge calls supported",
    "specificity": "share of unsupported texts that it calls unsupported",
    "accuracy": "share of texts that it calls right",
}
