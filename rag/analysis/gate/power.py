"""How likely a gate finds a loss: the share of tries in which its own test gives FAIL."""

import math

import numpy as np

from rag.core.arrays import Floats
from rag.evaluation.statistics import student
from rag.evaluation.statistics.resampling import effective

LOSS = 0.05
"""The loss that is asked about; twice the margin where that is more."""
STEPS = 400
FEWEST = 6
"""Clusters below which no sign flip is rare enough to fail."""


def least_error(room: Floats, loss: float) -> float:
    """The standard error that a loss brings at least, if some questions lose all that they can and the others nothing.

    `room` is the most that each question can lose, NaN for one without a value. NaN if they cannot lose as much.
    """
    known = room[~np.isnan(room)]
    most = float(known.mean()) if len(known) else 0.0
    if most < loss or not len(known):
        return math.nan
    return math.sqrt((loss * float((known**2).mean()) / most - loss**2) / len(known))


def power(error: float, counts: Floats, level: float, loss: float, margin: float) -> float:
    """The share of tries in which a mean difference of -`loss` is below 0 and below -`margin` by its interval, NaN if unknown.

    The mean is normal with the standard `error`, which is estimated from clusters of `counts` questions. So this is the
    noncentral t distribution with a second bound. `level` is that of the interval by itself.
    """
    if np.count_nonzero(counts) < FEWEST:
        return 0.0
    if not error > 0:
        return math.nan
    freedom = float(effective(counts)) - 1
    width = float(student.quantile(freedom, 1 - level / 2))
    shares = (np.arange(STEPS) + 0.5) / STEPS
    # Wilson and Hilferty (PNAS 17, 1931): the cube root of χ² is close to normal.
    normal = np.array([student.normal_quantile(share) for share in shares])
    chi = np.maximum(1 - 2 / (9 * freedom) + normal * math.sqrt(2 / (9 * freedom)), 0) ** 1.5
    half = error * chi * width
    ends = np.minimum(-half, half - margin)
    return float(student.normal_cdf((ends + loss) / error).mean())
