"""Which trials nothing beats: over quality, latency, cost and size of the indexes, by differences that are more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from rag.paired import ALPHA
from rag.resampling import by_cluster, effective

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

SAME = 1e-12
"""Means that are closer count as equal: sums differ in their last bits."""


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
    quality, better = differences(np.stack([found.quality for found in candidates], axis=1), cluster)
    scales = [np.array([getattr(found, name) for found in candidates]) for name in ("latency", "cost", "size")]
    nowhere_worse = (quality >= -SAME) & np.logical_and.reduce([_at_most(scale) for scale in scales])
    np.fill_diagonal(nowhere_worse, False)
    exact = nowhere_worse & np.logical_or.reduce([scale[:, None] < scale for scale in scales[1:]])
    open_pairs = nowhere_worse & ~exact & ~exact.any(axis=0)
    ratio, faster = differences(_log_seconds(candidates), np.arange(_timed(candidates)))
    found = exact | _found(open_pairs & (quality > SAME), better, open_pairs & (ratio < -SAME), faster)
    means = np.array([float(np.nanmean(one.quality)) if (one.quality == one.quality).any() else -np.inf for one in candidates])
    best = np.where(found, means[:, None], -np.inf).argmax(axis=0)
    beaten = np.flatnonzero(found.any(axis=0)).tolist()
    return {candidates[trial].trial_id: candidates[int(best[trial])].trial_id for trial in beaten}


def differences(values: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """Mean of every trial minus that of every other, and two-sided p-values: each of shape (trials, trials).

    `values` has shape (questions, trials). Errors are CR1 of Liang and Zeger (1986), read off one Gram matrix of residuals
    summed by cluster: the variance of a difference is K_ii + K_jj - 2 K_ij. Student's t has as many degrees of freedom as
    `rag.resampling.effective` counts clusters, less one; a p-value is never below that of all signs being the same. A trial
    without any value differs from nothing: NaN.
    """
    trials = values.shape[1]
    known = ~np.isnan(values).all(axis=0)
    rows = ~np.isnan(values[:, known]).any(axis=1)
    mean, p = np.full((trials, trials), np.nan), np.full((trials, trials), np.nan)
    place = np.ix_(known, known)
    if not rows.any() or not known.any():
        return mean, p
    kept, names = values[rows][:, known], np.unique(cluster[rows], return_inverse=True)[1]
    found = kept.mean(axis=0)
    mean[place] = found[:, None] - found
    groups = int(names.max()) + 1
    counts = by_cluster(np.ones((len(kept), 1)), names, groups)
    if groups > 1:
        residuals = by_cluster(kept, names, groups) - counts * found
        p[place] = _p_values(mean[place], residuals, len(kept), float(effective(counts)[0]))
    return mean, p


def _p_values(mean: Floats, residuals: Floats, n: int, equal: float) -> Floats:
    groups = len(residuals)
    gram = residuals.T @ residuals
    both = np.diag(gram)[:, None] + np.diag(gram)
    spread = np.maximum(both - 2 * gram, 0.0)
    spread[spread < SAME * both] = 0.0
    error = np.sqrt(spread * groups / (groups - 1)) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(np.abs(mean) <= SAME, 0.0, np.abs(mean) / error)
    p: Floats = np.maximum(2 * stdtr(equal - 1, -t), 2.0 ** (1 - min(groups, 1000)))
    return p


def _at_most(values: Floats) -> Flags:
    """Whether the value of a row is at most that of a column; unknown in both is equal, unknown in one is not comparable."""
    unknown = np.isnan(values)
    at_most: Flags = (values[:, None] <= values) | (unknown[:, None] & unknown)
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


def _found(quality: Flags, better: Floats, latency: Flags, faster: Floats) -> Flags:
    """Pairs that one of the tests decides, corrected for all pairs that both were asked about."""
    asked, p = np.stack([quality, latency]), np.stack([better, faster])
    asked &= ~np.isnan(p)
    decided = np.zeros(asked.shape, np.bool_)
    decided[asked] = holm(p[asked]) <= ALPHA
    either: Flags = np.logical_or(decided[0], decided[1])
    return either


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
