"""Sums by cluster → p-values by sign flips and intervals by bootstrap. Pure arithmetic.

Arrays have shape (clusters, columns): `sums` of differences, `counts` of the questions that they are sums of.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from rag.records import Example

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 10_000
EXACT = 13
"""Clusters with a difference up to which all sign flips are counted; above, they are drawn."""
AT_ONCE = 1_000
"""Draws that are multiplied out at once."""
TAIL = 50
"""Draws that must lie beyond a place before they can say how much lies there."""
TINY = 1e-9
"""Sums of differences that are closer than this share of all of them count as equal."""


def cluster_numbers(examples: Sequence[Example]) -> Ints:
    """The number of each question's cluster, from 0; a question without a cluster is one of its own."""
    # Marked, so that no question falls together with a cluster called like it.
    names = [example.cluster or f"\0{example.query.query_id}" for example in examples]
    return np.unique(np.array(names, np.str_), return_inverse=True)[1].astype(np.int64)


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


def jackknife(sums: Floats, counts: Floats) -> Floats:
    """Standard errors of means from leaving out one cluster at a time; each column has questions in at least two.

    CR3: with few clusters of unequal size it is right where CR1 is too small (MacKinnon, Nielsen and Webb, Journal of Applied
    Econometrics 38, 2023); with equal ones the two are the same.
    """
    total, n, clusters = sums.sum(axis=0), counts.sum(axis=0), len(sums)
    without = (total - sums) / (n - counts)
    error: Floats = np.sqrt(((without - total / n) ** 2).sum(axis=0) * (clusters - 1) / clusters)
    return error


def effective(counts: Floats) -> Floats:
    """How many clusters of equal size would tell as much as those of a column, whose sizes differ: (Σ n)² / Σ n², at least 2.

    Kish (Survey Sampling, 1965). One large cluster among small ones leaves few degrees of freedom, however many there are
    (Carter, Schnepel and Steigerwald, Review of Economics and Statistics 99, 2017).
    """
    squares = np.maximum((counts**2).sum(axis=0), 1)
    equal: Floats = np.maximum(counts.sum(axis=0) ** 2 / squares, 2.0)
    return equal


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
    # A column for which TAIL draws of at least DRAWS were as far needs no more (Besag and Clifford, Biometrika 78, 1991).
    random = np.random.default_rng([seed, 1])
    bar = np.abs(sums.sum(axis=0)) - TINY * np.abs(sums).sum(axis=0)
    beyond, made, going = np.zeros(sums.shape[1]), np.zeros(sums.shape[1]), np.arange(sums.shape[1])
    for first in range(0, draws, AT_ONCE):
        going = going if first < DRAWS else going[beyond[going] < TAIL]
        rows = min(AT_ONCE, draws - first)
        signs = 2.0 * random.integers(0, 2, (rows, len(sums)), dtype=np.int8) - 1.0
        beyond[going] += (np.abs(signs @ sums[:, going]) >= bar[going]).sum(axis=0)
        made[going] += rows
    p: Floats = (1 + beyond) / (1 + made)
    return p


def bootstrap(sums: Floats, counts: Floats, levels: Floats, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Intervals of means by resampling clusters: shape (rows of `levels`, 2, columns), NaN with fewer than two clusters.

    A column is resampled from the clusters that it applies to. `levels` has shape (levels, columns): .05 is a 95 % interval.
    Percentiles are expanded for few clusters (Hesterberg, The American Statistician 69, 2015, section 5.3), of which there are
    as many as `effective` counts. Where fewer than TAIL draws lie beyond an end, it is at least as far out as that of Student's
    t with the error of `jackknife`: four clusters cannot be resampled to a 95 % interval, nor 10,000 draws reach to one in a
    million.
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
            ends[:, :, columns] = _interval(*within, levels[:, columns], draws, seed)
    return ends


def _interval(sums: Floats, counts: Floats, levels: Floats, draws: int, seed: int) -> Floats:
    means, equal = _resampled(sums, counts, draws, seed), effective(counts)
    columns = np.arange(sums.shape[1])
    place = expanded(levels / 2, equal) * (draws - 1)
    low, high = _between(means, place, columns), _between(means, draws - 1 - place, columns)
    mean = sums.sum(axis=0) / counts.sum(axis=0)
    far = stdtrit(len(sums) - 1, 1 - levels / 2) * jackknife(sums, counts)
    few = place < TAIL
    low, high = np.where(few, np.minimum(low, mean - far), low), np.where(few, np.maximum(high, mean + far), high)
    return np.stack([low, high], axis=1)


def _resampled(sums: Floats, counts: Floats, draws: int, seed: int) -> Floats:
    """Means of resampled clusters, shape (columns, draws), each row sorted."""
    groups = len(sums)
    random = np.random.default_rng([seed, 2])
    means = np.empty((sums.shape[1], draws))
    alike = counts[:, :1] if (counts == counts[:, :1]).all() else counts
    for first in range(0, draws, AT_ONCE):
        rows = min(AT_ONCE, draws - first)
        picked = random.integers(0, groups, (rows, groups)) + groups * np.arange(rows)[:, None]
        weight = np.bincount(picked.ravel(), minlength=rows * groups).reshape(rows, groups).astype(np.float64)
        means[:, first : first + rows] = (sums.T @ weight.T) / (alike.T @ weight.T)
    means.sort(axis=1)
    return means


def expanded(tail: Floats, groups: Floats | int) -> Floats:
    """The share of draws to leave out at an end so that few clusters give an interval that is wide enough."""
    equal = np.asarray(groups, np.float64)
    shares: Floats = ndtr(np.sqrt(equal / (equal - 1)) * stdtrit(equal - 1, tail))
    return shares


def _between(ordered: Floats, place: Floats, columns: Ints) -> Floats:
    """Values at fractional places of sorted rows, one row per column."""
    below = np.clip(np.floor(place).astype(np.int64), 0, ordered.shape[1] - 1)
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    share = place - below
    between: Floats = ordered[columns, below] * (1 - share) + ordered[columns, above] * share
    return between
