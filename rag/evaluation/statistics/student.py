"""Student's t and the normal distribution: probabilities and quantiles, correct to 12 digits, without scipy.

The incomplete beta function is the continued fraction of Didonato and Morris (ACM Transactions on Mathematical Software 18,
1992, BFRAC), evaluated by Lentz's method (Applied Optics 15, 1976).
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from rag.core.arrays import Floats

NORMAL = NormalDist()
EXACT = 1e-15
"""Steps that change a value by a smaller share end an iteration."""
STEPS = 5_000
"""Most terms of a continued fraction: fewer than a hundred are needed."""
LARGE = 100.0
"""Half of the degrees of freedom from which a series gives the ratio of gamma functions to the last digit."""
SERIES = (1.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144)
"""Γ(a + ½) / (Γ(a) √a) in powers of 1 / a (DLMF 5.11.13)."""


def normal_cdf(values: ArrayLike) -> Floats:
    """Probabilities that a standard normal variable is at most each of the `values`; the same shape."""
    shares: Floats = np.vectorize(lambda value: math.erfc(-value / math.sqrt(2)) / 2, otypes=[np.float64])(values)
    return shares


def normal_quantile(share: float) -> float:
    """The value below which a standard normal variable lies with a probability in (0, 1)."""
    return NORMAL.inv_cdf(share)


def cdf(freedom: ArrayLike, values: ArrayLike) -> Floats:
    """Probabilities that t is at most `values`, for degrees of `freedom` > 0; broadcast. NaN for NaN."""
    freedom, values = np.broadcast_arrays(np.asarray(freedom, np.float64), np.asarray(values, np.float64))
    tail, _ = _parts(freedom.ravel(), np.abs(values.ravel()))
    shares: Floats = np.where(values > 0, 1 - tail.reshape(values.shape), tail.reshape(values.shape))
    return shares


def quantile(freedom: ArrayLike, shares: ArrayLike) -> Floats:
    """The values below which t lies with probabilities `shares`, for degrees of `freedom` > 0; broadcast. NaN for NaN."""
    freedom, shares = np.broadcast_arrays(np.asarray(freedom, np.float64), np.asarray(shares, np.float64))
    n, tail, middle = freedom.ravel(), np.minimum(shares, 1 - shares).ravel(), np.abs(shares - 0.5).ravel()
    found = np.where(tail == 0, np.inf, np.nan)
    for chosen, far in (((tail > 0) & (tail < 0.25), True), (tail >= 0.25, False)):
        chosen &= n > 0
        found[chosen] = _solved(n[chosen], tail[chosen], middle[chosen], far)
    values: Floats = np.where(shares < 0.5, -1.0, 1.0) * found.reshape(shares.shape)
    return values


def _solved(n: Floats, tail: Floats, middle: Floats, far: bool) -> Floats:
    """The t >= 0 of tails, by Newton's method.

    Far out it solves for the logarithm of the tail over that of t, else for the probability between 0 and t. Both functions
    are concave: every step but the first comes nearer from one side.
    """
    t = np.array([-NORMAL.inv_cdf(float(share)) for share in tail]) if far else np.zeros_like(n)
    for _ in range(100):
        above, between = _parts(n, t)
        density = _gamma_ratio(n / 2) / np.sqrt(n * math.pi) * np.exp(-(n + 1) / 2 * np.log1p(t * t / n))
        moved = t * np.exp(above * np.log(above / tail) / (t * density)) if far else t + (middle - between) / density
        ended, t = np.abs(moved - t) <= 4 * EXACT * t, moved
        if ended.all():
            break
    return t


def _parts(n: Floats, t: Floats) -> tuple[Floats, Floats]:
    """For t >= 0, the probabilities above t and between 0 and t, neither as a difference where it is small."""
    tail, middle = np.full_like(t, np.nan), np.full_like(t, np.nan)
    with np.errstate(all="ignore"):
        a, b, ratio = n / 2, np.full_like(n, 0.5), t * t / n
        x, y = 1 / (1 + ratio), 1 / (1 + 1 / ratio)
        front = np.exp(-a * np.log1p(ratio)) * np.sqrt(y) * _gamma_ratio(a) / math.sqrt(math.pi) / 2
        far, near = (n > 0) & (a * y > 1.5 * x), (n > 0) & (a * y <= 1.5 * x)
    tail[far] = front[far] / _fraction(a[far], b[far], x[far], y[far])
    middle[far] = 0.5 - tail[far]
    middle[near] = front[near] / _fraction(b[near], a[near], y[near], x[near])
    tail[near] = 0.5 - middle[near]
    return tail, middle


def _gamma_ratio(a: Floats) -> Floats:
    """Γ(a + ½) / Γ(a); NaN unless a > 0."""
    known, place = np.unique(a, return_inverse=True)
    ratios = np.full(len(known), np.nan)
    for number, value in enumerate(known.tolist()):
        if value >= LARGE:
            ratios[number] = math.sqrt(value) * sum(part / value**power for power, part in enumerate(SERIES))
        elif value > 0:
            ratios[number] = math.gamma(value + 0.5) / math.gamma(value)
    return ratios[place]


def _fraction(a: Floats, b: Floats, x: Floats, y: Floats) -> Floats:
    """The continued fraction by which x^a y^b / B(a, b), with y = 1 - x, is divided to give the incomplete beta function.

    It converges where x is below the mean of the beta distribution, or not far above it.
    """
    value = a * (a * y - b * x + 1) / (a + 1)
    done, left, c, d = value.copy(), np.arange(len(x)), value.copy(), np.zeros_like(x)
    for m in range(1, STEPS):
        if not len(left):
            break
        odd = a + 2 * m - 1
        top = (a + m - 1) * (a + b + m - 1) * m * (b - m) * (x / odd) ** 2
        bottom = m + m * (b - m) * x / odd + (a + m) * (a * y - b * x + 1 + m * (1 + y)) / (odd + 2)
        d, c = 1 / (bottom + top * d), bottom + top / c
        value *= c * d
        done[left] = value
        going = np.abs(c * d - 1) > EXACT
        if not going.all():
            left = left[going]
            a, b, x, y, c, d, value = (part[going] for part in (a, b, x, y, c, d, value))
    return done
