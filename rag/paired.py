"""Paired differences of questions → means, intervals, p-values, and what a set of this size could have shown. Pure arithmetic.

Questions of one cluster (a document, a conversation) are not independent: clusters are what is resampled and what changes sign.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHA = 0.05
POWER = 0.8
DRAWS = 10_000
MOST_DRAWS = 100_000
PER_MEMBER = 400
"""Draws per member of a family, so that its corrected intervals, at ALPHA / members, still have tails to be read from."""
EXACT = 13
"""Clusters with a difference up to which all sign flips are counted; above, they are drawn."""
AT_ONCE = 1_000
"""Draws that are multiplied out at once."""
TINY = 1e-9
"""Sums of differences that are closer than this share of all of them count as equal."""


@dataclass(frozen=True)
class Family:
    """What was found in the columns that were looked at together; one entry per column, NaN where nothing can be known.

    `mean` is that of the differences, [low, high] its 95 % interval by itself, [corrected_low, corrected_high] the one that
    holds beside all others of the family: its level is the one at which Holm's procedure judges the column, and it holds 0
    wherever `p_holm` is above ALPHA. `effect` is mean / standard deviation, `error` the cluster-robust standard error.
    `detectable` is the smallest mean that a set of this size finds in four of five tries at the corrected level, `needed` the
    number of questions at which that would be the mean that was found (infinite for none).
    """

    mean: Floats
    low: Floats
    high: Floats
    corrected_low: Floats
    corrected_high: Floats
    p: Floats
    p_holm: Floats
    effect: Floats
    error: Floats
    n: Ints
    clusters: Ints
    wins: Ints
    ties: Ints
    losses: Ints
    detectable: Floats
    needed: Floats
    size: int

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which differences Holm's procedure finds, at 5 % for the family."""
        return np.nan_to_num(self.p_holm, nan=1.0) <= ALPHA


def family(differences: Floats, cluster: Ints, size: int | None = None, alpha: float = ALPHA, seed: int = 0) -> Family:
    """Look at several columns of paired differences at once: shape (questions, columns), NaN where a column does not apply.

    `cluster` numbers the cluster of each question from 0. `size` is the number of comparisons in the family where more were
    looked at than stand here. Intervals are cluster bootstrap percentiles, expanded for few clusters (Hesterberg, The American
    Statistician 69, 2015, section 5.3); p-values are those of sign flips of whole clusters (Fisher's permutation test for
    pairs), exact where at most EXACT clusters differ; the correction is Holm's (1979). Same input, same output.
    """
    applies = ~np.isnan(differences)
    values = np.where(applies, differences, 0.0)
    n = applies.sum(axis=0)
    mean = np.divide(values.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    groups = int(cluster.max(initial=-1)) + 1
    sums, counts = by_cluster(values, cluster, groups), by_cluster(applies.astype(np.float64), cluster, groups)
    clusters = (counts > 0).sum(axis=0)
    size = len(n) if size is None else size
    draws = min(max(DRAWS, PER_MEMBER * size), MOST_DRAWS)
    p = np.where(n > 0, sign_flip(sums, draws, seed), np.nan)
    p_holm, level = holm(p, size, alpha)
    ends = bootstrap(sums, counts, np.stack([np.full(len(n), ALPHA), level]), draws, seed)
    corrected = ends[1].copy()
    unsure = ~(p_holm <= alpha)
    corrected[0][unsure] = np.minimum(corrected[0][unsure], 0.0)
    corrected[1][unsure] = np.maximum(corrected[1][unsure], 0.0)
    error = standard_error(sums, counts, mean)
    deviation = _deviation(values, applies, mean, n)
    detectable = reach(clusters, level) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(mean == 0, np.inf, n * (detectable / np.abs(mean)) ** 2)
        effect = np.where(deviation > 0, mean / deviation, np.where(mean == 0, 0.0, np.nan))
    return Family(
        mean=mean,
        low=ends[0][0],
        high=ends[0][1],
        corrected_low=corrected[0],
        corrected_high=corrected[1],
        p=p,
        p_holm=p_holm,
        effect=effect,
        error=error,
        n=n,
        clusters=clusters,
        wins=(values > 0).sum(axis=0),
        ties=(applies & (values == 0)).sum(axis=0),
        losses=(values < 0).sum(axis=0),
        detectable=detectable,
        needed=np.maximum(needed, np.where(n > 0, 2, np.nan)),
        size=size,
    )


def by_cluster(values: Floats, cluster: Ints, groups: int) -> Floats:
    """Sums of rows by cluster, shape (clusters, columns)."""
    sums = np.zeros((groups, values.shape[1]))
    np.add.at(sums, cluster, values)
    return sums


def standard_error(sums: Floats, counts: Floats, mean: Floats) -> Floats:
    """CR1 of Liang and Zeger (1986), as `rag.summary.summarise` has it; NaN with fewer than two clusters."""
    clusters = (counts > 0).sum(axis=0)
    residuals = sums - counts * np.nan_to_num(mean)
    known = clusters > 1
    scale = np.divide(clusters, clusters - 1, out=np.ones(len(clusters)), where=known)
    error = np.sqrt((residuals**2).sum(axis=0) * scale) / np.maximum(counts.sum(axis=0), 1)
    return np.where(known, error, np.nan)


def reach(clusters: Ints, level: Floats | float) -> Floats:
    """By how many standard errors a mean must differ from 0 to be found at a level in four of five tries."""
    freedom = np.maximum(clusters - 1, 1)
    both: Floats = stdtrit(freedom, 1 - np.asarray(level) / 2) + stdtrit(freedom, POWER)
    return np.where(clusters > 1, both, np.nan)


def holm(p: Floats, size: int, alpha: float = ALPHA) -> tuple[Floats, Floats]:
    """Adjusted p-values (Holm, Scandinavian Journal of Statistics 6, 1979), and the level at which each one was judged.

    The procedure stops at the first that it does not reject; the rest is judged at the level where it stopped. Where `size` is
    more than there are p-values, the missing ones count as the smallest: that is the careful side.
    """
    order = np.argsort(p, kind="stable")
    order = order[~np.isnan(p[order])]
    remaining = np.maximum(len(order) - np.arange(len(order)), 1) + (size - len(order))
    adjusted, level = np.full(len(p), np.nan), np.full(len(p), alpha / max(size, 1))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * remaining), 1.0)
    kept = adjusted[order] > alpha
    stop = int(np.argmax(kept)) if kept.any() else len(order) - 1
    level[order] = alpha / remaining[np.minimum(np.arange(len(order)), stop)] if len(order) else alpha
    return adjusted, level


def sign_flip(sums: Floats, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Two-sided p-values of the hypothesis that clusters are as likely to differ one way as the other.

    `sums` has shape (clusters, columns). Clusters without a difference change nothing. Drawn p-values count what was observed
    as one of the draws, so that they are never 0.
    """
    p = np.ones(sums.shape[1])
    differing = (sums != 0).sum(axis=0)
    for column in np.flatnonzero((differing > 0) & (differing <= EXACT)):
        p[column] = _exact(sums[sums[:, column] != 0, column])
    drawn = np.flatnonzero(differing > EXACT)
    if len(drawn):
        p[drawn] = _drawn(sums[:, drawn], draws, seed)
    return p


def _exact(sums: Floats) -> float:
    # Both signs of the first cluster give the same absolute sum, so half of the flips will do.
    flips = 1 - 2 * (np.arange(2 ** (len(sums) - 1))[:, None] >> np.arange(len(sums)) & 1)
    observed, slack = abs(sums.sum()), TINY * np.abs(sums).sum()
    return float((np.abs(flips @ sums) >= observed - slack).mean())


def _drawn(sums: Floats, draws: int, seed: int) -> Floats:
    random = np.random.default_rng([seed, 1])
    bar = np.abs(sums.sum(axis=0)) - TINY * np.abs(sums).sum(axis=0)
    beyond = np.zeros(sums.shape[1])
    for first in range(0, draws, AT_ONCE):
        bits = random.integers(0, 2, (min(AT_ONCE, draws - first), len(sums)), dtype=np.int8)
        beyond += (np.abs((2.0 * bits - 1.0) @ sums) >= bar).sum(axis=0)
    p: Floats = (1 + beyond) / (1 + draws)
    return p


def bootstrap(sums: Floats, counts: Floats, levels: Floats, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Intervals of means by resampling clusters: shape (rows of `levels`, 2, columns), NaN with fewer than two clusters.

    A column is resampled from the clusters that it applies to. `levels` has shape (levels, columns): .05 is a 95 % interval.
    """
    ends = np.full((len(levels), 2, sums.shape[1]), np.nan)
    held = counts > 0
    patterns: dict[bytes, list[int]] = {}
    for column in range(sums.shape[1]):
        patterns.setdefault(held[:, column].tobytes(), []).append(column)
    for columns in patterns.values():
        inside = held[:, columns[0]]
        if inside.sum() > 1:
            within = sums[inside][:, columns], counts[inside][:, columns]
            ends[:, :, columns] = _resampled(*within, levels[:, columns], draws, seed)
    return ends


def _resampled(sums: Floats, counts: Floats, levels: Floats, draws: int, seed: int) -> Floats:
    groups = len(sums)
    random = np.random.default_rng([seed, 2])
    means = np.empty((draws, sums.shape[1]))
    for first in range(0, draws, AT_ONCE):
        rows = min(AT_ONCE, draws - first)
        weight = random.multinomial(groups, np.full(groups, 1 / groups), rows).astype(np.float64)
        means[first : first + rows] = (weight @ sums) / (weight @ counts)
    means.sort(axis=0)
    tail = expanded(levels / 2, groups)
    columns = np.arange(sums.shape[1])
    place = tail * (draws - 1)
    return np.stack([_between(means, place, columns), _between(means, draws - 1 - place, columns)], axis=1)


def expanded(tail: Floats, groups: int) -> Floats:
    """The share of draws to leave out at an end so that few clusters give an interval that is wide enough."""
    shares: Floats = ndtr(np.sqrt(groups / (groups - 1)) * stdtrit(groups - 1, tail))
    return shares


def _between(ordered: Floats, place: Floats, columns: Ints) -> Floats:
    """Values at fractional places of sorted columns."""
    below = np.clip(np.floor(place).astype(np.int64), 0, len(ordered) - 1)
    above = np.minimum(below + 1, len(ordered) - 1)
    share = place - below
    between: Floats = ordered[below, columns] * (1 - share) + ordered[above, columns] * share
    return between


def _deviation(values: Floats, applies: NDArray[Any], mean: Floats, n: Ints) -> Floats:
    squares = np.where(applies, (values - np.nan_to_num(mean)) ** 2, 0.0).sum(axis=0)
    deviation: Floats = np.sqrt(np.divide(squares, n - 1, out=np.full(len(n), np.nan), where=n > 1))
    return deviation
