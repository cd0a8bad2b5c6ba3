"""What a chosen trial is worth on new questions: choose on a draw of clusters, score on the clusters that it left out.

Bootstrap bias corrected cross-validation (Tsamardinos, Greasidou and Borboudakis, Machine Learning 107, 2018), for trials that
were not fitted to the questions. Pure arithmetic.
"""

from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.evaluation.statistics.resampling import by_cluster, effective
from rag.evaluation.statistics.summary import interval

DRAWS, AT_ONCE = 1_000, 200
"""Draws, and how many of them are made at once."""
SAME = 1e-12
"""Means that are closer count as equal."""


@dataclass(frozen=True)
class Preference:
    """How a draw chooses: the greatest mean less its price, or the trial `taken` where it is behind that by at most `slack`.

    `prices` have the shape (trials,).
    """

    prices: Floats
    taken: int = 0
    slack: float = 0.0


def estimate(
    values: Floats, cluster: Ints, preference: Preference, span: tuple[float, float] = (0.0, 1.0), seed: int = 0
) -> tuple[float, float, float] | None:
    """The mean of the chosen trial on new questions, and both ends of its 95 % interval; None where no draw can tell.

    `values` has shape (questions, trials) in `span`, higher is better, NaN where a trial has none; `cluster` numbers the
    cluster of each question from 0. The estimate is the mean over draws of whole clusters. A draw leaves out a share q of them, without
    repeats: its mean has (1 - q) / q times the variance of a mean over all. So scaled, the spread of the draws gives the error;
    their percentiles would be a third too wide.
    """
    known = ~np.isnan(values)
    groups = int(cluster.max(initial=-1)) + 1
    sums = by_cluster(np.where(known, values, 0.0), cluster, groups)
    counts = by_cluster(known.astype(np.float64), cluster, groups)
    inside = counts.any(axis=1)
    groups = int(inside.sum())
    if groups < 2:
        return None
    found = _left_out(sums[inside], counts[inside], preference, np.random.default_rng([seed, 4]))
    if np.isnan(found).all():
        return None
    out = (1 - 1 / groups) ** groups
    error = np.nanstd(found) * np.sqrt(out / (1 - out) * groups / (groups - 1))
    low, high = interval(np.array([np.nanmean(found)]), np.array([error]), effective(counts[:, [preference.taken]]), span)
    return float(np.nanmean(found)), float(low[0]), float(high[0])


def _left_out(sums: Floats, counts: Floats, preference: Preference, random: np.random.Generator) -> Floats:
    """Means of the chosen trial on the clusters that a draw left out, shape (draws,); NaN where it has no value there."""
    groups, found = len(sums), np.empty(DRAWS)
    alike = counts[:, :1] if (counts == counts[:, :1]).all() else counts
    for first in range(0, DRAWS, AT_ONCE):
        weights = random.multinomial(groups, np.full(groups, 1 / groups), AT_ONCE).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.nan_to_num((weights @ sums) / (weights @ alike) - preference.prices, nan=-np.inf, neginf=-np.inf)
            behind = worth.max(axis=1) - worth[:, preference.taken]
        chosen = np.where(behind <= preference.slack + SAME, preference.taken, worth.argmax(axis=1))
        out = (weights == 0).T
        asked, total = ((out * part[:, chosen]).sum(axis=0) for part in (counts, sums))
        found[first : first + AT_ONCE] = np.divide(total, asked, out=np.full(AT_ONCE, np.nan), where=asked > 0)
    return found
