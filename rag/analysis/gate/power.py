"""How likely a gate finds a loss: the share of tries in which its own test gives FAIL."""

import math
from collections.abc import Iterable

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.core.figures import figure
from rag.evaluation.statistics import student
from rag.evaluation.statistics.resampling import effective

LOSS = 0.05
"""The loss of shares in question; twice the margin where that is more, and of all else. A FAIL then rests on 0 alone."""
FEWEST = 6
"""Clusters below which no share of sign flips is rare enough to fail."""
NORMAL = np.array([student.normal_quantile((step + 0.5) / 400) for step in range(400)])


def row_power(base: Floats, cluster: Ints, margin: float, error: float, level: float, span: float) -> tuple[float, float]:
    """A loss, and the share of tries in which a row of a gate would find it; NaN where that is unknown.

    `base` are the scores of the baseline, NaN where there is none; `error` is the standard error of today's difference. Where
    its square is less than a quarter of what questions bring that lose all they have, today shows less spread than a loss has:
    then the share is that of such losses. docs/gate.md has the figures of both on public sets.
    """
    shares, known = math.isfinite(span), ~np.isnan(base)
    loss = max(LOSS * shares, 2 * margin)
    if not loss or not known.any():
        return loss, math.nan
    cluster, base = cluster[known], base[known]
    if shares:
        room = base - min(0.0, math.floor(base.min()))  # shares below 0 are those of which less is better
        if room.mean() < loss:
            return loss, math.nan
        if not 4 * error**2 >= (loss * (room**2).mean() / room.mean() - loss**2) / len(room):
            return loss, whole_losses(room, cluster, level, loss)
    return loss, power(error, np.bincount(cluster).astype(np.float64), level, loss)


def whole_losses(room: Floats, cluster: Ints, level: float, loss: float) -> float:
    """The share of tries in which enough clusters lose, if each question loses its `room` or nothing, and the mean is `loss`.

    If k clusters lose and none gains, two of 2^k sign flips are as far from 0: the p-value is 2^(1 - k).
    """
    able = np.bincount(cluster, room > 0)
    few = np.zeros(max(math.ceil(1 - math.log2(level)), 1))
    few[0] = 1.0  # the chances of 0, 1, ... clusters, too few for the level
    for share in 1 - (1 - loss / room.mean()) ** able:
        few = few * (1 - share) + np.append(0.0, few[:-1]) * share
    return 1 - float(few.sum())


def power(error: float, counts: Floats, level: float, loss: float) -> float:
    """The share of tries in which the interval of a mean of -`loss` is below 0: the noncentral t distribution.

    The mean is normal with the standard `error`, which is estimated from clusters of `counts` questions. `level` is that of the
    interval by itself. NaN without an error.
    """
    if np.count_nonzero(counts) < FEWEST or not error > 0:
        return 0.0 if error > 0 else math.nan
    freedom = float(effective(counts)) - 1
    # Wilson and Hilferty (PNAS 17, 1931): the cube root of χ² is nearly normal.
    chi = np.maximum(1 - 2 / (9 * freedom) + NORMAL * math.sqrt(2 / (9 * freedom)), 0) ** 1.5
    return float(student.normal_cdf(loss / error - chi * float(student.quantile(freedom, 1 - level / 2))).mean())


def power_in_words(rows: Iterable[tuple[str, float, float | None]]) -> str:
    """How likely a gate finds a loss: names, losses and powers of its rows; empty if no power is known."""
    groups: dict[float, list[str]] = {}
    for name, loss, share in rows:
        if share is not None:
            percent = "over 99" if share > 0.995 else "under 1" if share < 0.005 else f"{100 * share:.0f}"
            groups.setdefault(loss, []).append(f"{percent} % of tries ({name})")
    return " ".join(f"Finds a loss of {figure(loss, 2)} in {', '.join(parts)}." for loss, parts in groups.items())
