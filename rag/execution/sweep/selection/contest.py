"""Values of trials per question → how well the data of each trial fits its being the best. Pure arithmetic.

Two tests must both find that another trial is better before one is left out of the tied set. Each test looks at the clearest
lead of any rival over the trial. Only one hypothesis is true of the best trial, its own, so the number of trials needs no
correction (Hsu, Annals of Statistics 9, 1981).
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import DRAWS, EXACT, TINY, by_cluster, signs

RESAMPLED, AT_ONCE = 2_000, 200
"""Draws of the bootstrap, and how many of them are made at once."""
CLEAR = 2.5
"""A p-value is drawn no further when it is so many standard errors away from ALPHA."""
LARGE, LOOKS = 1_000, 5
"""Trials above which the bootstrap compares with those alone that sign flips leave, and p-values are looked at so many times as
often: the work of all pairs would take minutes. Sign flips alone keep the best trial in 95 % of tries."""

Largest = Callable[[int, Floats], Floats]
"""A trial and a piece of draws → the largest lead over the trial in each draw."""


def plausible(values: Floats, cluster: Ints, seed: int = 0) -> Floats:
    """Shape (trials,): the p-value of the hypothesis that no other trial is better.

    The trials above ALPHA hold the truly best one in at least 95 % of tries. `values` has shape (questions, trials), higher is
    better; `cluster` numbers the cluster of each question from 0. A question counts if every trial has a value for it. The
    p-value is the larger of two: that of sign flips of whole clusters, which is exact for few clusters, and that of a
    studentised bootstrap of clusters, which allows for skewed differences. The bootstrap looks only at trials that sign flips
    rule out. With fewer than two clusters every p-value is 1.
    """
    known = ~np.isnan(values).any(axis=1)
    names = np.unique(cluster[known], return_inverse=True)[1]
    groups = int(names.max(initial=-1)) + 1
    if groups < 2:
        return np.ones(values.shape[1])
    counts = by_cluster(np.ones((len(names), 1)), names, groups)[:, 0]
    # Differences stay as they are when the mean of every question is 0, and lose fewer bits.
    sums = by_cluster(values[known] - values[known].mean(axis=1, keepdims=True), names, groups)
    p = _flipped(sums, seed)
    out = np.flatnonzero(p <= ALPHA)
    among = np.flatnonzero(p > ALPHA) if len(p) > LARGE else np.arange(len(p))
    p[out] = np.maximum(p[out], _resampled(sums, counts, out, among, seed))
    return p


def _squares(sums: Floats) -> Floats:
    """Σ (rival - trial)² over clusters, for rivals (rows) and trials (columns); 0 for trials that answer alike."""
    gram: Floats = sums.T @ sums
    both = np.add.outer(np.diag(gram), np.diag(gram))
    # In place: of 5,000 trials each of these tables has 200 MB.
    gram *= 2
    squares: Floats = np.subtract(both, gram, out=gram)
    both *= TINY
    squares[squares <= both] = 0.0
    return squares


def _leads(sums: Floats, squares: Floats) -> Floats:
    """Leads of rivals over trials in units of the root of `squares`; infinite for a lead that never varies."""
    total = sums.sum(axis=0)
    lead = np.subtract.outer(total, total)
    leads: Floats = np.copysign(np.inf, lead)
    np.divide(lead, np.sqrt(squares), out=leads, where=squares > 0)
    return leads


def _rivals(lead: Floats, squares: Floats, groups: int) -> list[Ints]:
    """The rivals of every trial: no trial that answers alike, and none that is as far behind as sqrt(log n).

    Without the latter the set is larger for nothing (Andrews and Soares, Econometrica 78, 2010).
    """
    return [np.flatnonzero(row) for row in ((squares > 0) & (lead > -np.sqrt(np.log(groups)))).T]


def _flipped(sums: Floats, seed: int) -> Floats:
    squares = _squares(sums)
    lead = _leads(sums, squares)
    lead[squares == 0] = 0.0
    rivals, scale = _rivals(lead, squares, len(sums)), np.sqrt(squares, out=squares)

    def largest(trial: int, drawn: Floats) -> Floats:
        found: Floats = ((drawn[:, rivals[trial]] - drawn[:, [trial]]) / scale[rivals[trial], trial]).max(axis=1)
        return found

    p, trials = np.ones(sums.shape[1]), np.array([trial for trial, others in enumerate(rivals) if len(others)], np.int64)
    bar = np.array([lead[rivals[trial], trial].max() - TINY for trial in trials])
    drawn = (flips @ sums for flips in signs(len(sums), DRAWS, seed))
    p[trials] = _shares(trials, bar, drawn, largest, len(sums) <= EXACT)
    return p


def _resampled(sums: Floats, counts: Floats, trials: Ints, among: Ints, seed: int) -> Floats:
    squares = _squares(sums)
    rivals = [np.intersect1d(row, among) for row in _rivals(_leads(sums, squares), squares, len(sums))]
    residuals = sums - np.outer(counts, sums.sum(axis=0) / counts.sum())
    varying = _squares(residuals)
    varying[varying <= TINY * squares] = 0.0
    lead = _leads(sums, varying)
    del varying
    bar = np.array([lead[rivals[trial], trial].max() - TINY for trial in trials])

    def largest(trial: int, drawn: Floats) -> Floats:
        others, weights = rivals[trial], drawn[:, : len(sums)]
        total, square, crossed = np.split(drawn[:, len(sums) : -2], 3, axis=1)
        n, size, least = drawn[:, -2:-1], drawn[:, -1:], TINY * squares[others, trial]
        apart = total[:, others] - total[:, [trial]]
        mean = apart / n
        spread = square[:, others] + square[:, [trial]] - 2 * (weights @ (residuals[:, others] * residuals[:, [trial]]))
        spread += mean * (mean * size - 2 * (crossed[:, others] - crossed[:, [trial]]))
        none, sure = spread <= least, np.where(apart > np.sqrt(least), np.inf, -np.inf)
        found: Floats = np.where(none, sure, apart / np.sqrt(np.where(none, 1.0, spread))).max(axis=1)
        return found

    each = np.column_stack([np.eye(len(sums)), residuals, residuals**2, residuals * counts[:, None], counts, counts**2])
    return _shares(trials, bar, (weights @ each for weights in _weights(len(sums), seed)), largest)


def _weights(groups: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng([seed, 3])
    for _ in range(RESAMPLED // AT_ONCE):
        yield random.multinomial(groups, np.full(groups, 1 / groups), AT_ONCE).astype(np.float64)


def _shares(trials: Ints, bar: Floats, pieces: Iterable[Floats], largest: Largest, exact: bool = False) -> Floats:
    """The share of draws whose largest lead is at or above the `bar` of a trial; a drawn one counts what was observed."""
    beyond, made = np.zeros(len(trials)), np.zeros(len(trials))
    extra, going = int(not exact), np.arange(len(trials))
    parts = LOOKS if len(trials) > LARGE else 1
    for piece in (part for whole in pieces for part in np.array_split(whole, parts)):
        for place in going:
            beyond[place] += (largest(int(trials[place]), piece) >= bar[place]).sum()
        made[going] += len(piece)
        if not exact:
            p = (1 + beyond[going]) / (1 + made[going])
            going = going[np.abs(p - ALPHA) < CLEAR * np.sqrt(ALPHA * (1 - ALPHA) / made[going])]
    shares: Floats = (extra + beyond) / np.maximum(extra + made, 1)
    return shares
