"""Paired differences per question → means, intervals, p-values and detectable differences. Pure arithmetic.

Questions of one cluster (a document, a conversation) are not independent: clusters are resampled and change sign as a whole.
"""

from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Flags, Floats, Ints
from rag.evaluation.statistics import student
from rag.evaluation.statistics.resampling import by_cluster, effective, joint_level, sign_flip, standard_error

ALPHA = 0.05
POWER = 0.8

FEW = 30
"""Clusters below which intervals are rough: see `rough` and docs/statistics.md."""

EDGE = 1e-12
"""The distance to 0 at which an interval ends that must leave out 0."""


@dataclass(frozen=True)
class Family:
    """The results of columns that were tested together; one entry per column, NaN for what is unknown.

    `mean` is the mean difference, [low, high] its own 95 % interval, [corrected_low, corrected_high] the interval at the level
    at which the intervals of all columns hold together in 95 % of tries. An interval leaves out 0 if and only if its p-value,
    `p` or `p_adjusted`, is at most ALPHA. Sign flips decide: where Student's t disagrees, the interval is extended to 0 or cut
    just before it. An end at 0 rests on the p-value alone: step-down p-values are sharper than the intervals, and any of them
    reports a difference that does not exist in at most 5 % of tries.

    `effect` is mean / standard deviation, `error` the cluster-robust standard error. `detectable` is the smallest mean that a
    set of this size detects in four of five tries, corrected for the family; `needed` is the number of questions at which the
    observed mean would be detectable (infinite for a mean of 0). `level` is that of the corrected interval by itself.
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
    level: Floats

    @property
    def size(self) -> int:
        """The number of columns that were tested together."""
        return len(self.mean)

    @property
    def significant(self) -> Flags:
        """Which columns differ at 5 % for the family."""
        return np.nan_to_num(self.p_adjusted, nan=1.0) <= ALPHA

    def corrected(self, column: int) -> tuple[float, float, float, float]:
        """The mean, both ends of the corrected interval and the adjusted p-value of one column."""
        parts = (self.mean, self.corrected_low, self.corrected_high, self.p_adjusted)
        mean, low, high, p = (float(part[column]) for part in parts)
        return mean, low, high, p


def family(differences: Floats, cluster: Ints, span: Floats | float = 1.0, seed: int = 0) -> Family:
    """Test several columns of paired differences together: shape (questions, columns), NaN where a column does not apply.

    `cluster` numbers the cluster of each question from 0; a mean lies within ±`span`. p-values come from sign flips of whole
    clusters (Fisher's permutation test for pairs), adjusted by step-down max-t. Intervals use Student's t with the errors of
    `standard_error` and the degrees of freedom of `effective`. Deterministic.
    """
    applies = ~np.isnan(differences)
    values = np.where(applies, differences, 0.0)
    n = applies.sum(axis=0)
    mean = np.divide(values.sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    groups = int(cluster.max(initial=-1)) + 1
    sums, counts = by_cluster(values, cluster, groups), by_cluster(applies.astype(np.float64), cluster, groups)
    clusters = (counts > 0).sum(axis=0)
    p, adjusted = (np.where(n > 0, value, np.nan) for value in sign_flip(sums, seed=seed))
    error, level = standard_error(sums, counts), joint_level(sums, counts, ALPHA, seed)
    low, high = _interval(mean, error * student.quantile(effective(counts) - 1, 1 - ALPHA / 2), p <= ALPHA, span)
    far = error * student.quantile(effective(counts) - 1, 1 - level / 2)
    corrected_low, corrected_high = _interval(mean, far, adjusted <= ALPHA, span)
    squares = np.where(applies, (values - np.nan_to_num(mean)) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(np.divide(squares, n - 1, out=np.full(len(n), np.nan), where=n > 1))
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
        level=np.full(len(n), level),
    )


def rough(clusters: int) -> str:
    """A warning about intervals over fewer than FEW clusters; empty for more, and for one cluster, which has no interval."""
    if clusters >= FEW or clusters < 2:
        return ""
    least = 83 if clusters < FEW // 3 else 88
    return (
        f"95 % intervals over {clusters} clusters of questions are rough: on some real scores they hold in {least} % of tries."
    )


def reach(clusters: Ints, equal: Floats, level: float) -> Floats:
    """The number of standard errors from 0 at which a mean is detected at a level in four of five tries."""
    both: Floats = student.quantile(equal - 1, 1 - level / 2) + student.quantile(equal - 1, POWER)
    return np.where(clusters > 1, both, np.nan)


def _interval(mean: Floats, half: Floats, significant: Flags, span: Floats | float) -> tuple[Floats, Floats]:
    """Both ends: half a width from the mean, within the span, and in agreement with `significant`."""
    return agreeing(np.maximum(mean - half, -span), np.minimum(mean + half, span), mean, significant)


def agreeing(low: Floats, high: Floats, mean: Floats, significant: Flags) -> tuple[Floats, Floats]:
    """Move the ends of intervals so that they leave out 0 where `significant`, and contain 0 elsewhere."""
    edge = np.minimum(EDGE, np.abs(mean))
    low, high = np.where(significant, low, np.minimum(low, 0.0)), np.where(significant, high, np.maximum(high, 0.0))
    above, below = significant & (mean > 0), significant & (mean < 0)
    return np.where(above, np.maximum(low, edge), low), np.where(below, np.minimum(high, -edge), high)
