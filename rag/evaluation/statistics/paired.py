"""Paired differences of questions → means, intervals, p-values, and what a set of this size could have shown. Pure arithmetic.

Questions of one cluster (a document, a conversation) are not independent: clusters are what is resampled and what changes sign.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rag.evaluation.statistics.resampling import by_cluster, effective, joint_level, sign_flip, standard_error

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHA = 0.05
POWER = 0.8

FEW = 30
"""Clusters below which intervals are rough: see `rough` and docs/statistics.md."""

EDGE = 1e-12
"""As near to 0 as an interval comes that leaves it out."""


@dataclass(frozen=True)
class Family:
    """What was found in the columns that were looked at together; one entry per column, NaN where nothing can be known.

    `mean` is that of the differences, [low, high] its 95 % interval by itself, [corrected_low, corrected_high] that at the
    level at which the intervals of all columns hold together in 95 % of tries. An interval leaves out 0 exactly where its
    p-value, `p` or `p_adjusted`, is at most ALPHA: where sign flips, which decide, and Student's t disagree, it is drawn out
    to 0 or ends just before it. An end at 0 rests on the p-value alone: step-down p-values are sharper than the intervals,
    and any of them finds a difference that is none in at most 5 % of tries.

    `effect` is mean / standard deviation, `error` the cluster-robust standard error. `detectable` is the smallest mean that a
    set of this size finds in four of five tries beside all other columns, `needed` the number of questions at which that
    would be the mean that was found (infinite for none).
    """

    mean: Floats
    low: Floats
    high: Floats
    corrected_low: Floats
    corrected_high: Floats
    p: Floats
    p_adjusted: Floats
    effect: Floats
    error: Floats
    n: Ints
    clusters: Ints
    wins: Ints
    ties: Ints
    losses: Ints
    detectable: Floats
    needed: Floats

    @property
    def size(self) -> int:
        """How many columns were looked at together."""
        return len(self.mean)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which differences are found at 5 % for the family."""
        return np.nan_to_num(self.p_adjusted, nan=1.0) <= ALPHA


def family(differences: Floats, cluster: Ints, span: Floats | float = 1.0, seed: int = 0) -> Family:
    """Look at several columns of paired differences at once: shape (questions, columns), NaN where a column does not apply.

    `cluster` numbers the cluster of each question from 0; no mean can be further from 0 than `span`. p-values are those of
    sign flips of whole clusters (Fisher's permutation test for pairs), adjusted by step-down max-t. Intervals are Student's t
    with the errors of `standard_error` and the degrees of freedom of `effective`. Same input, same output.
    """
    applies = ~np.isnan(differences)
    values = np.where(applies, differences, 0.0)
    n = applies.sum(axis=0)
    mean = np.divide(values.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    groups = int(cluster.max(initial=-1)) + 1
    sums, counts = by_cluster(values, cluster, groups), by_cluster(applies.astype(np.float64), cluster, groups)
    clusters = (counts > 0).sum(axis=0)
    p, adjusted = (np.where(n > 0, found, np.nan) for found in sign_flip(sums, seed=seed))
    error, level = standard_error(sums, counts), joint_level(sums, counts, ALPHA, seed)
    low, high = _interval(mean, error * stdtrit(effective(counts) - 1, 1 - ALPHA / 2), p <= ALPHA, span)
    far = error * stdtrit(effective(counts) - 1, 1 - level / 2)
    corrected_low, corrected_high = _interval(mean, far, adjusted <= ALPHA, span)
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
        p_adjusted=adjusted,
        effect=effect,
        error=error,
        n=n,
        clusters=clusters,
        wins=(values > 0).sum(axis=0),
        ties=(applies & (values == 0)).sum(axis=0),
        losses=(values < 0).sum(axis=0),
        detectable=detectable,
        needed=np.maximum(needed, np.where(n > 0, 2, np.nan)),
    )


def rough(clusters: int) -> str:
    """A sentence for intervals over fewer than FEW clusters; empty for more, and for a single one, which has no interval."""
    if clusters >= FEW or clusters < 2:
        return ""
    least = 83 if clusters < FEW // 3 else 88
    return (
        f"95 % intervals over {clusters} clusters of questions are rough: on some real scores they hold in {least} % of tries."
    )


def reach(clusters: Ints, equal: Floats, level: float) -> Floats:
    """By how many standard errors a mean must differ from 0 to be found at a level in four of five tries."""
    both: Floats = stdtrit(equal - 1, 1 - level / 2) + stdtrit(equal - 1, POWER)
    return np.where(clusters > 1, both, np.nan)


def _interval(mean: Floats, half: Floats, found: NDArray[np.bool_], span: Floats | float) -> tuple[Floats, Floats]:
    """Both ends at half a width from the mean, inside the span, in agreement with what was `found`."""
    return agreeing(np.maximum(mean - half, -span), np.minimum(mean + half, span), mean, found)


def agreeing(low: Floats, high: Floats, mean: Floats, found: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The two ends of intervals, which are to leave out 0 where a difference was `found`, and to hold it elsewhere."""
    edge = np.minimum(EDGE, np.abs(mean))
    low, high = np.where(found, low, np.minimum(low, 0.0)), np.where(found, high, np.maximum(high, 0.0))
    return np.where(found & (mean > 0), np.maximum(low, edge), low), np.where(found & (mean < 0), np.minimum(high, -edge), high)


def _deviation(values: Floats, applies: NDArray[Any], mean: Floats, n: Ints) -> Floats:
    squares = np.where(applies, (values - np.nan_to_num(mean)) ** 2, 0.0).sum(axis=0)
    deviation: Floats = np.sqrt(np.divide(squares, n - 1, out=np.full(len(n), np.nan), where=n > 1))
    return deviation
