"""Sums by cluster → standard errors, p-values by sign flips, and the level at which several intervals hold together.

Arrays have shape (clusters, columns): `sums` of differences, `counts` of the questions in these sums. Pure arithmetic.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.core.types import Example
from rag.evaluation.statistics import student

DRAWS = 10_000
EXACT = 13
"""Up to so many clusters all sign flips are counted; for more they are drawn."""
AT_ONCE = 1_000
"""Draws that are computed at once."""
TINY = 1e-9
"""Sums that differ by less than this share of the sum of all absolute differences count as equal."""


def cluster_numbers(examples: Sequence[Example]) -> Ints:
    """The number of each question's cluster, from 0; a question without a cluster is its own cluster."""
    # The prefix keeps the id of a question apart from a cluster of the same name.
    names = [example.cluster or f"\0{example.query.query_id}" for example in examples]
    return np.unique(np.array(names, np.str_), return_inverse=True)[1].astype(np.int64)


def by_cluster(values: Floats, cluster: Ints, groups: int) -> Floats:
    """Sums of rows by cluster, shape (clusters, columns)."""
    sums = np.zeros((groups, values.shape[1]))
    np.add.at(sums, cluster, values)
    return sums


def standard_error(sums: Floats, counts: Floats) -> Floats:
    """Standard errors of means by the jackknife over clusters; NaN with fewer than two clusters.

    CR3: correct for few clusters of unequal size, where the usual CR1 is too small (MacKinnon, Nielsen and Webb, Journal of
    Applied Econometrics 38, 2023). The two agree for clusters of equal size; without clusters it is sd / sqrt(n).
    """
    total, n, clusters = sums.sum(axis=0), counts.sum(axis=0), (counts > 0).sum(axis=0)
    known = clusters > 1
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(counts > 0, (total - sums) / (n - counts) - total / n, 0.0)
        error = np.sqrt((apart**2).sum(axis=0) * (clusters - 1) / clusters)
    # Rounding errors of a sum are not variance.
    return np.where(known, np.where(error > TINY * np.abs(sums).sum(axis=0) / np.maximum(n, 1), error, 0.0), np.nan)


def effective(counts: Floats) -> Floats:
    """The number of clusters of equal size that is as informative as the clusters of a column: (Σ n)² / Σ n², at least 2.

    Kish (Survey Sampling, 1965). One large cluster among many small ones leaves few degrees of freedom (Carter, Schnepel and
    Steigerwald, Review of Economics and Statistics 99, 2017).
    """
    squares = np.maximum((counts**2).sum(axis=0), 1)
    equal: Floats = np.maximum(counts.sum(axis=0) ** 2 / squares, 2.0)
    return equal


def signs(groups: int, draws: int, seed: int) -> Iterator[Floats]:
    """Signs for clusters, shape (at most AT_ONCE, groups) at a time: all 2 ** groups, or `draws` of them above EXACT groups."""
    random = np.random.default_rng([seed, 1])
    number = 2**groups if groups <= EXACT else draws
    for first in range(0, number, AT_ONCE):
        rows = np.arange(first, min(first + AT_ONCE, number))
        if groups <= EXACT:
            yield 1.0 - 2.0 * (rows[:, None] >> np.arange(groups) & 1).astype(np.float64)
        else:
            yield 1.0 - 2.0 * random.integers(0, 2, (len(rows), groups), np.int8).astype(np.float64)


def sign_flip(sums: Floats, draws: int = DRAWS, seed: int = 0) -> tuple[Floats, Floats]:
    """Two-sided p-values for the hypothesis that the difference of a cluster is symmetric about 0: by column, and adjusted.

    Adjusted by the step-down max-t procedure (Westfall and Young, Resampling-Based Multiple Testing, 1993): each column is
    compared with the maximum over all columns that are no more significant, under the same flips of whole clusters. Columns
    are scaled by the root of Σ sums², which flips do not change. Drawn p-values count the observation as one of the draws, so
    they are never 0.
    """
    clusters = sums[(sums != 0).any(axis=1)]
    scale = np.sqrt((clusters**2).sum(axis=0))
    unit = np.divide(clusters, scale, out=np.zeros_like(clusters), where=scale > 0)
    observed = np.abs(unit.sum(axis=0)) - TINY * np.abs(unit).sum(axis=0)
    order = np.argsort(-observed, kind="stable")
    bar, alone, together, made = observed[order], np.zeros(len(order)), np.zeros(len(order)), 0
    for flips in signs(len(clusters), draws, seed):
        drawn = np.abs(flips @ unit[:, order])
        alone += (drawn >= bar).sum(axis=0)
        together += (np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1] >= bar).sum(axis=0)
        made += len(flips)
    extra = int(len(clusters) > EXACT)
    p, adjusted = np.empty(len(order)), np.empty(len(order))
    p[order] = (alone + extra) / (made + extra)
    adjusted[order] = np.maximum.accumulate((together + extra) / (made + extra))
    return p, adjusted


def joint_level(sums: Floats, counts: Floats, alpha: float, seed: int = 0) -> float:
    """The level of a single interval at which the intervals of all columns hold together in 1 - `alpha` of tries.

    The largest |t| of all columns is simulated with normal multipliers of the clusters' residuals, which keep the correlation
    of columns (Chernozhukov, Chetverikov and Kato, Annals of Statistics 41, 2013). Columns without variance do not count.
    """
    used = (counts > 0).any(axis=1)
    sums, counts = sums[used], counts[used]
    residuals = sums - counts * (sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1))
    scale = np.sqrt((residuals**2).sum(axis=0))
    varying = scale > TINY * np.abs(sums).sum(axis=0)
    if varying.sum() < 2:
        return alpha
    unit, random = residuals[:, varying] / scale[varying], np.random.default_rng([seed, 2])
    drawn = (np.abs(random.standard_normal((AT_ONCE, len(sums))) @ unit).max(axis=1) for _ in range(DRAWS // AT_ONCE))
    largest = np.concatenate(list(drawn))
    return min(alpha, 2 * float(student.normal_cdf(-np.quantile(largest, 1 - alpha))))


def expanded(tail: Floats, groups: Floats | int) -> Floats:
    """The share of bootstrap draws below each end of an interval, corrected for few clusters.

    Hesterberg (The American Statistician 69, 2015, section 5.3).
    """
    equal = np.asarray(groups, np.float64)
    shares: Floats = student.normal_cdf(np.sqrt(equal / (equal - 1)) * student.quantile(equal - 1, tail))
    return shares
