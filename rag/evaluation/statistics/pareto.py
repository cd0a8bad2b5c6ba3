"""Which trials nothing beats: over quality, latency, cost and size of the indexes, by differences that are more than noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import by_cluster, effective

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

SAME = 1e-12
"""Means that are closer count as equal: sums differ in their last bits."""
AT_ONCE = 100
"""Trials that are compared with all others at once: the figures of all pairs of 5,000 trials take 2 GB."""


@dataclass(frozen=True)
class Candidate:
    """A trial: `quality` per question, higher is better; `seconds` of questions that were timed, the same in all trials.

    `latency` is the figure that people read, `cost` in US dollars, `size` in bytes; NaN for what was not measured.
    """

    trial_id: str
    quality: Floats
    seconds: Floats
    latency: float
    cost: float
    size: float


def front(candidates: Sequence[Candidate], cluster: Ints) -> set[str]:
    """The trials that no other dominates; there is always one if there are any."""
    return {found.trial_id for found in candidates} - dominated(candidates, cluster).keys()


def dominated(candidates: Sequence[Candidate], cluster: Ints) -> dict[str, str]:
    """Trials that another one dominates, with the best of those by quality.

    A dominates B when A is nowhere worse by what was found, and somewhere better: in cost or size by any amount, in quality or
    latency significantly. Quality is tested by the paired, cluster-robust t of `differences` over the questions that all trials
    have a value for, latency by the same of log seconds, a ratio of latencies; Holm's correction covers every pair that these
    tests have to decide. What only one of two was measured by makes them incomparable.
    """
    if len(candidates) < 2:
        return {}
    quality = _Pairs(np.stack([found.quality for found in candidates], axis=1), cluster)
    latency = _Pairs(_log_seconds(candidates), np.arange(_timed(candidates)))
    scales = [np.array([getattr(found, name) for found in candidates]) for name in ("latency", "cost", "size")]
    nowhere_worse = np.empty((len(candidates), len(candidates)), np.bool_)
    exact = np.empty_like(nowhere_worse)
    for rows in _pieces(len(candidates)):
        at_most = np.logical_and.reduce([_at_most(scale[rows], scale) for scale in scales])
        nowhere_worse[rows] = (quality.means(rows) >= -SAME) & at_most
        exact[rows] = nowhere_worse[rows] & np.logical_or.reduce([scale[rows, None] < scale for scale in scales[1:]])
    np.fill_diagonal(nowhere_worse, False)
    open_pairs = nowhere_worse & ~exact & ~exact.any(axis=0)
    found = exact | _found(open_pairs, quality, latency)
    means = np.array([float(np.nanmean(one.quality)) if (one.quality == one.quality).any() else -np.inf for one in candidates])
    order = np.argsort(-means, kind="stable")
    best = order[found[order].argmax(axis=0)]
    beaten = np.flatnonzero(found.any(axis=0)).tolist()
    return {candidates[trial].trial_id: candidates[int(best[trial])].trial_id for trial in beaten}


def _pieces(trials: int) -> Iterator[slice]:
    return (slice(first, first + AT_ONCE) for first in range(0, trials, AT_ONCE))


def differences(values: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """Mean of every trial minus that of every other, and two-sided p-values: each of shape (trials, trials).

    `values` has shape (questions, trials). Errors are CR1 of Liang and Zeger (1986), read off one Gram matrix of residuals
    summed by cluster: the variance of a difference is K_ii + K_jj - 2 K_ij. Student's t has as many degrees of freedom as
    `rag.evaluation.statistics.resampling.effective` counts clusters, less one; a p-value is never below that of all signs being
    the same. A trial without any value differs from nothing: NaN.
    """
    pairs, every = _Pairs(values, cluster), slice(None)
    return pairs.means(every), pairs.p_values(every)


class _Pairs:
    """Differences of trials as in `differences`, of some of them (rows) from all."""

    def __init__(self, values: Floats, cluster: Ints) -> None:
        known = ~np.isnan(values).all(axis=0)
        asked = ~np.isnan(values[:, known]).any(axis=1)
        kept, names = values[asked][:, known], np.unique(cluster[asked], return_inverse=True)[1]
        self._n, groups = len(kept), int(names.max(initial=-1)) + 1
        self._found = np.full(values.shape[1], np.nan)
        self._residuals = np.full((groups, values.shape[1]), np.nan)
        counts = by_cluster(np.ones((self._n, 1)), names, groups)
        self._equal = float(effective(counts)[0])
        if self._n:
            self._found[known] = kept.mean(axis=0)
            self._residuals[:, known] = by_cluster(kept, names, groups) - counts * self._found[known]
        self._squares = (self._residuals**2).sum(axis=0)

    def means(self, rows: slice) -> Floats:
        """Means of the differences, NaN for a trial without any value."""
        means: Floats = self._found[rows, None] - self._found
        return means

    def p_values(self, rows: slice) -> Floats:
        """Two-sided p-values of the differences, NaN where there are fewer than two clusters."""
        mean, groups = self.means(rows), len(self._residuals)
        if groups < 2:
            return np.full(mean.shape, np.nan)
        both = self._squares[rows, None] + self._squares
        spread = np.maximum(both - 2 * (self._residuals[:, rows].T @ self._residuals), 0.0)
        spread[spread < SAME * both] = 0.0
        error = np.sqrt(spread * groups / (groups - 1)) / self._n
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(np.abs(mean) <= SAME, 0.0, np.abs(mean) / error)
        p: Floats = np.maximum(2 * stdtr(self._equal - 1, -t), 2.0 ** (1 - min(groups, 1000)))
        return p


def _at_most(some: Floats, values: Floats) -> Flags:
    """Whether the value of a row is at most that of a column; unknown in both is equal, unknown in one is not comparable."""
    at_most: Flags = (some[:, None] <= values) | (np.isnan(some)[:, None] & np.isnan(values))
    return at_most


def _timed(candidates: Sequence[Candidate]) -> int:
    return max(len(found.seconds) for found in candidates)


def _log_seconds(candidates: Sequence[Candidate]) -> Floats:
    """Shape (questions timed, trials); NaN for trials that were timed on fewer questions, or not at all."""
    most = _timed(candidates)
    logs = np.full((most, len(candidates)), np.nan)
    for column, found in enumerate(candidates):
        if len(found.seconds) == most:
            logs[:, column] = np.log(np.maximum(found.seconds, 1e-9))
    return logs


def _found(open_pairs: Flags, quality: _Pairs, latency: _Pairs) -> Flags:
    """Pairs that one of the tests decides, corrected for all pairs that both were asked about."""
    asked = [_asked(open_pairs, quality, 1.0), _asked(open_pairs, latency, -1.0)]
    decided = holm(np.concatenate([p for _, p in asked])) <= ALPHA
    found = np.zeros_like(open_pairs)
    for flags, _ in asked:
        found[flags] |= decided[: flags.sum()]
        decided = decided[flags.sum() :]
    return found


def _asked(open_pairs: Flags, pairs: _Pairs, sign: float) -> tuple[Flags, Floats]:
    """The open pairs whose means differ in a direction, and the p-values of these."""
    asked, values = np.zeros_like(open_pairs), []
    for rows in _pieces(len(open_pairs)):
        if open_pairs[rows].any():
            p = pairs.p_values(rows)
            asked[rows] = open_pairs[rows] & (sign * pairs.means(rows) > SAME) & ~np.isnan(p)
            values.append(p[asked[rows]])
    return asked, np.concatenate(values) if values else np.empty(0)


def holm(p: Floats) -> Floats:
    """Adjusted p-values, none of them NaN (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def not_slower(seconds: Sequence[Floats], fastest: int) -> list[int]:
    """The trials that are not shown to be slower than one of them, by the ratio of latencies; each is tested by itself.

    To call a trial slower that is not costs nothing but a mean that cannot be told from others: so nothing is corrected.
    """
    ratio, p = _against(seconds, fastest)
    return np.flatnonzero(~((ratio > 0) & (p <= ALPHA))).tolist()


def faster(seconds: Sequence[Floats], than: int) -> list[int]:
    """The trials that are shown to be faster than one of them, by the ratio of latencies; each is tested by itself."""
    ratio, p = _against(seconds, than)
    return np.flatnonzero((ratio < 0) & (p <= ALPHA)).tolist()


def _against(seconds: Sequence[Floats], one: int) -> tuple[Floats, Floats]:
    """Mean log ratios of latencies to those of one trial, and p-values."""
    none = np.empty(0)
    candidates = [Candidate(str(row), none, found, 0.0, 0.0, 0.0) for row, found in enumerate(seconds)]
    ratio, p = differences(_log_seconds(candidates), np.arange(_timed(candidates)))
    return ratio[:, one], p[:, one]
