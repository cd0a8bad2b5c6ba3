"""Paired differences of questions → means, intervals, p-values, and what a set of this size could have shown. Pure arithmetic.

Questions of one cluster (a document, a conversation) are not independent: clusters are what is resampled and what changes sign.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rag.resampling import DRAWS, bootstrap, by_cluster, effective, sign_flip, standard_error

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHA = 0.05
POWER = 0.8
MOST_DRAWS = 100_000
PER_MEMBER = 400
"""Sign flips per member of a family, as far as MOST_DRAWS go."""
LEAST_PER_MEMBER = 25
"""Sign flips per member, however many there are: with fewer than 20 no p-value could be below ALPHA / members."""

EDGE = 1e-12
"""As near to 0 as an interval comes that leaves it out."""


@dataclass(frozen=True)
class Family:
    """What was found in the columns that were looked at together; one entry per column, NaN where nothing can be known.

    `mean` is that of the differences, [low, high] its 95 % interval by itself, [corrected_low, corrected_high] that at the
    level ALPHA / size, at which the intervals of all members hold together in 95 % of tries. An interval leaves out 0 exactly
    where its p-value, `p` or `p_holm`, is at most ALPHA: where sign flips, which decide, and bootstrap disagree, it is drawn
    out to 0 or ends just before it. Holm's procedure is sharper than ALPHA / size, so that of 20 such intervals all hold in
    93 % of tries, while one of them leaves out 0 wrongly in at most 5 % (make bench).

    `effect` is mean / standard deviation, `error` the cluster-robust standard error. `detectable` is the smallest mean that a
    set of this size finds in four of five tries at the level at which Holm's procedure judged the column, `needed` the number
    of questions at which that would be the mean that was found (infinite for none).
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
    looked at than stand here. Intervals are those of `bootstrap`; p-values are those of sign flips of whole clusters (Fisher's
    permutation test for pairs), exact where at most EXACT clusters differ; the correction is Holm's (1979). Same input, same
    output.
    """
    applies = ~np.isnan(differences)
    values = np.where(applies, differences, 0.0)
    n = applies.sum(axis=0)
    mean = np.divide(values.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    groups = int(cluster.max(initial=-1)) + 1
    sums, counts = by_cluster(values, cluster, groups), by_cluster(applies.astype(np.float64), cluster, groups)
    clusters = (counts > 0).sum(axis=0)
    size = max(len(n), size or 0)
    p = np.where(n > 0, sign_flip(sums, draws_for(size), seed), np.nan)
    p_holm, level = holm(p, size, alpha)
    levels = np.stack([np.full(len(n), ALPHA), np.full(len(n), alpha / max(size, 1))])
    alone, together = bootstrap(sums, counts, levels, DRAWS, seed)
    low, high = _agreeing(alone, mean, p <= ALPHA)
    corrected_low, corrected_high = _agreeing(together, mean, p_holm <= alpha)
    error = standard_error(sums, counts, mean)
    deviation = _deviation(values, applies, mean, n)
    detectable = reach(clusters, effective(counts), level) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(mean == 0, np.inf, n * (detectable / np.abs(mean)) ** 2)
        effect = np.where(deviation > 0, mean / deviation, np.where(mean == 0, 0.0, np.nan))
    return Family(
        mean=mean,
        low=low,
        high=high,
        corrected_low=corrected_low,
        corrected_high=corrected_high,
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


def draws_for(size: int) -> int:
    """How many sign flips tell the p-values of a family of some size from 0."""
    return max(min(max(DRAWS, PER_MEMBER * size), MOST_DRAWS), LEAST_PER_MEMBER * size)


def reach(clusters: Ints, equal: Floats, level: Floats | float) -> Floats:
    """By how many standard errors a mean must differ from 0 to be found at a level in four of five tries."""
    both: Floats = stdtrit(equal - 1, 1 - np.asarray(level) / 2) + stdtrit(equal - 1, POWER)
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


def _agreeing(ends: Floats, mean: Floats, found: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The two ends of intervals, which are to leave out 0 where a difference was `found`, and to hold it elsewhere."""
    edge = np.minimum(EDGE, np.abs(mean))
    low, high = np.where(found, ends[0], np.minimum(ends[0], 0.0)), np.where(found, ends[1], np.maximum(ends[1], 0.0))
    return np.where(found & (mean > 0), np.maximum(low, edge), low), np.where(found & (mean < 0), np.minimum(high, -edge), high)


def _deviation(values: Floats, applies: NDArray[Any], mean: Floats, n: Ints) -> Floats:
    squares = np.where(applies, (values - np.nan_to_num(mean)) ** 2, 0.0).sum(axis=0)
    deviation: Floats = np.sqrt(np.divide(squares, n - 1, out=np.full(len(n), np.nan), where=n > 1))
    return deviation
