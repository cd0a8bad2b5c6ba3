"""The Pareto front of trials over quality, latency, cost, index size and characters read, by significant differences only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Flags, Floats, Ints
from rag.evaluation.statistics import student
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import by_cluster, effective

SAME = 1e-12
"""Means that are closer than this count as equal: sums differ in their last bits."""
AT_ONCE = 100
"""Trials that are compared with all others at once: arrays over all pairs of 5,000 trials take 2 GB."""


@dataclass(frozen=True)
class Candidate:
    """A trial: `quality` per question, higher is better; `seconds` of the timed questions, the same in all trials.

    `latency` is the reported figure, `cost` is in US dollars, `size` in bytes, `read` in characters for a question; NaN for
    what was not measured.
    """

    trial_id: str
    quality: Floats
    seconds: Floats
    latency: float
    cost: float
    size: float
    read: float = float("nan")


def front(candidates: Sequence[Candidate], cluster: Ints) -> set[str]:
    """The trials that no other trial dominates: at least one, unless there are no candidates."""
    return {candidate.trial_id for candidate in candidates} - dominated(candidates, cluster).keys()


def dominated(candidates: Sequence[Candidate], cluster: Ints) -> dict[str, str]:
    """Dominated trials, each with the best by quality of the trials that dominate it.

    A dominates B if A is nowhere worse by its point estimates, and better somewhere: in cost, size or characters by any amount,
    in quality or latency significantly. Quality is tested by the paired, cluster-robust t of `differences` over the questions
    for which all trials have a value, latency by the same test of log seconds, a ratio of latencies; Holm's correction covers
    every pair that these tests decide. Two trials are incomparable if only one of them has a figure.
    """
    if len(candidates) < 2:
        return {}
    quality = _Pairs(np.stack([candidate.quality for candidate in candidates], axis=1), cluster)
    latency = _Pairs(*_log_seconds([candidate.seconds for candidate in candidates]))
    scales = [np.array([getattr(candidate, name) for candidate in candidates]) for name in ("latency", "cost", "size", "read")]
    nowhere_worse = np.empty((len(candidates), len(candidates)), np.bool_)
    exact = np.empty_like(nowhere_worse)
    for rows in _pieces(len(candidates)):
        at_most = np.logical_and.reduce([_at_most(scale[rows], scale) for scale in scales])
        nowhere_worse[rows] = (quality.means(rows) >= -SAME) & at_most
        exact[rows] = nowhere_worse[rows] & np.logical_or.reduce([scale[rows, None] < scale for scale in scales[1:]])
    np.fill_diagonal(nowhere_worse, False)
    open_pairs = nowhere_worse & ~exact & ~exact.any(axis=0)
    dominates = exact | _significant(open_pairs, quality, latency)
    qualities = [candidate.quality for candidate in candidates]
    means = np.array([-np.inf if np.isnan(values).all() else float(np.nanmean(values)) for values in qualities])
    order = np.argsort(-means, kind="stable")
    best = order[dominates[order].argmax(axis=0)]
    beaten = np.flatnonzero(dominates.any(axis=0)).tolist()
    return {candidates[trial].trial_id: candidates[int(best[trial])].trial_id for trial in beaten}


def _pieces(trials: int) -> Iterator[slice]:
    return (slice(first, first + AT_ONCE) for first in range(0, trials, AT_ONCE))


def differences(values: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """The mean of every trial minus that of every other, and two-sided p-values, each of shape (trials, trials).

    `values` has shape (questions, trials). Errors are CR1 of Liang and Zeger (1986), from one Gram matrix of residuals summed
    by cluster: the variance of a difference is K_ii + K_jj - 2 K_ij. Student's t has one degree of freedom less than the
    clusters of `rag.evaluation.statistics.resampling.effective`; a p-value is at least that of equal signs in all clusters. NaN
    for a trial without values.
    """
    pairs, every = _Pairs(values, cluster), slice(None)
    return pairs.means(every), pairs.p_values(every)


class _Pairs:
    """The differences of `differences`, computed for some trials (rows) against all."""

    def __init__(self, values: Floats, cluster: Ints) -> None:
        known = ~np.isnan(values).all(axis=0)
        complete = ~np.isnan(values[:, known]).any(axis=1)
        kept, names = values[complete][:, known], np.unique(cluster[complete], return_inverse=True)[1]
        self._n, groups = len(kept), int(names.max(initial=-1)) + 1
        self._means = np.full(values.shape[1], np.nan)
        self._residuals = np.full((groups, values.shape[1]), np.nan)
        counts = by_cluster(np.ones((self._n, 1)), names, groups)
        self._equal = float(effective(counts)[0])
        if self._n:
            self._means[known] = kept.mean(axis=0)
            self._residuals[:, known] = by_cluster(kept, names, groups) - counts * self._means[known]
        self._squares = (self._residuals**2).sum(axis=0)

    def means(self, rows: slice) -> Floats:
        """Means of the differences, NaN for a trial without values."""
        means: Floats = self._means[rows, None] - self._means
        return means

    def p_values(self, rows: slice, pairs: Flags | bool = True) -> Floats:
        """Two-sided p-values of the differences of these `pairs`; NaN for others, and with fewer than two clusters."""
        mean, groups = self.means(rows), len(self._residuals)
        p = np.full(mean.shape, np.nan)
        if groups < 2:
            return p
        both = self._squares[rows, None] + self._squares
        spread = np.maximum(both - 2 * (self._residuals[:, rows].T @ self._residuals), 0.0)
        spread[spread < SAME * both] = 0.0
        error = np.sqrt(spread * groups / (groups - 1)) / self._n
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(np.abs(mean) <= SAME, 0.0, np.abs(mean) / error)
        wanted = np.broadcast_to(pairs, t.shape)
        p[wanted] = np.maximum(2 * student.cdf(self._equal - 1, -t[wanted]), 2.0 ** (1 - min(groups, 1000)))
        return p


def _at_most(some: Floats, values: Floats) -> Flags:
    """True where the value of a row is at most that of a column; two NaN are equal, one NaN is not comparable."""
    at_most: Flags = (some[:, None] <= values) | (np.isnan(some)[:, None] & np.isnan(values))
    return at_most


def _log_seconds(seconds: Sequence[Floats]) -> tuple[Floats, Ints]:
    """Shape (timed questions, trials), NaN for trials with fewer timed questions than others; each question is a cluster."""
    most = max(map(len, seconds))
    logs = np.full((most, len(seconds)), np.nan)
    for column, values in enumerate(seconds):
        if len(values) == most:
            logs[:, column] = np.log(np.maximum(values, 1e-9))
    return logs, np.arange(most)


def _significant(open_pairs: Flags, quality: _Pairs, latency: _Pairs) -> Flags:
    """Pairs that differ in quality or latency, corrected for all pairs of both tests."""
    tests = [_tested(open_pairs, quality, 1.0), _tested(open_pairs, latency, -1.0)]
    decided = holm(np.concatenate([p for _, p in tests])) <= ALPHA
    significant = np.zeros_like(open_pairs)
    for flags, p in tests:
        significant[flags] |= decided[: len(p)]
        decided = decided[len(p) :]
    return significant


def _tested(open_pairs: Flags, pairs: _Pairs, sign: float) -> tuple[Flags, Floats]:
    """The open pairs whose means differ in the direction `sign`, and their p-values."""
    tested, values = np.zeros_like(open_pairs), [np.empty(0)]
    for rows in _pieces(len(open_pairs)):
        if open_pairs[rows].any():
            better = open_pairs[rows] & (sign * pairs.means(rows) > SAME)
            p = pairs.p_values(rows, better)
            tested[rows] = better & ~np.isnan(p)
            values.append(p[tested[rows]])
    return tested, np.concatenate(values)


def holm(p: Floats) -> Floats:
    """Adjusted p-values (Holm, Scandinavian Journal of Statistics 6, 1979); `p` has no NaN."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def not_slower(seconds: Sequence[Floats], fastest: int) -> list[int]:
    """The trials that are not significantly slower than the trial `fastest`, by the ratio of latencies.

    Not corrected for several tests: a trial wrongly called slower is merely not preferred.
    """
    ratio, p = differences(*_log_seconds(seconds))
    return np.flatnonzero(~((ratio[:, fastest] > 0) & (p[:, fastest] <= ALPHA))).tolist()


def faster(seconds: Sequence[Floats], than: int) -> list[int]:
    """The trials that are significantly faster than the trial `than`, by the ratio of latencies; not corrected."""
    ratio, p = differences(*_log_seconds(seconds))
    return np.flatnonzero((ratio[:, than] < 0) & (p[:, than] <= ALPHA)).tolist()
