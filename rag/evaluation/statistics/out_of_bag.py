"""What a chosen trial is worth on new questions: choose on a draw of clusters, score on the clusters that it left out.

Bootstrap bias corrected cross-validation (Tsamardinos, Greasidou and Borboudakis, Machine Learning 107, 2018), for trials that
were not fitted to the questions. Pure arithmetic.
"""

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.evaluation.statistics.resampling import by_cluster, effective
from rag.evaluation.statistics.summary import interval

DRAWS, AT_ONCE = 1_000, 200
"""Draws, and how many of them are made at once."""
SAME = 1e-12
"""Means that are closer count as equal."""


def estimate(
    values: Floats, cluster: Ints, prices: Floats, taken: int = 0, slack: float = 0.0, span: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float, float]:
    """The mean of the chosen trial on new questions, and both ends of its 95 % interval; NaN with fewer than two clusters.

    `values` has shape (questions, trials), without NaN, in `span`; higher is better. `cluster` has the cluster of each
    question. A draw chooses the greatest mean less its price (shape (trials,)), or the trial `taken` where it is behind that by
    at most `slack`. The estimate is the mean over draws. A draw leaves out a share q of clusters, without repeats: its mean has
    (1 - q) / q times the variance of a mean over all. So scaled, the spread of the draws gives the error; their percentiles
    would be a quarter too wide.
    """
    names, sizes = np.unique(cluster, return_inverse=True, return_counts=True)[1:]
    groups, counts = len(sizes), sizes[:, None].astype(np.float64)
    if groups < 2:
        return np.nan, np.nan, np.nan
    sums, random, found = by_cluster(values, names, groups), np.random.default_rng(4), np.empty(DRAWS)
    for first in range(0, DRAWS, AT_ONCE):
        weights = random.multinomial(groups, np.full(groups, 1 / groups), AT_ONCE).astype(np.float64)
        worth = (weights @ sums) / (weights @ counts) - prices
        near = worth[:, taken] >= worth.max(axis=1) - slack - SAME
        chosen, out = np.where(near, taken, worth.argmax(axis=1)), (weights == 0).astype(np.float64)
        with np.errstate(invalid="ignore"):  # a draw of few clusters may leave out none
            found[first : first + AT_ONCE] = (out.T * sums[:, chosen]).sum(axis=0) / (out @ counts)[:, 0]
    share = (1 - 1 / groups) ** groups
    error = np.nanstd(found) * np.sqrt(share / (1 - share) * groups / (groups - 1))
    low, high = interval(np.array([np.nanmean(found)]), np.array([error]), effective(counts), span)
    return float(np.nanmean(found)), float(low[0]), float(high[0])
