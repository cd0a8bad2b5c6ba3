"""A logistic mix of a few measures with known signs, and the fit of its weights.

Each measure is in [0, 1] and has a sign: more of it can only raise support, or only lower it. The fit keeps the signs, so no
labels can turn a missing number into evidence for support.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rag.core.arrays import Flags, Floats
from rag.core.errors import MissingExtraError

BIAS = "bias"
STRENGTH = 0.1
"""The inverse of the ridge penalty on standardised measures (the C of other libraries)."""
SAME = 1e-9
"""The greatest standard deviation of a measure that counts as constant."""


def mixed(measures: Floats, names: Sequence[str], weights: Mapping[str, float]) -> Floats:
    """Supports in [0, 1], shape (texts,), of measures with shape (texts, names)."""
    odds = weights[BIAS] + measures @ np.array([weights[name] for name in names])
    supports: Floats = 0.5 * (1 + np.tanh(odds / 2))
    return supports


def fitted(measures: Floats, labels: Flags, signs: Mapping[str, int], counts: Floats) -> dict[str, float]:
    """The weights, and the bias, of a ridge logistic regression under the signs; `measures` has shape (texts, signs).

    `counts` are the weights of the texts. A constant measure gets the weight 0. The same input gives the same weights, rounded
    to 4 digits. MissingExtraError without scipy.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingExtraError("judge", "scipy", "analysis") from error

    mean = np.average(measures, axis=0, weights=counts)
    spread = np.sqrt(np.average((measures - mean) ** 2, axis=0, weights=counts))
    varies = spread > SAME
    scaled = (measures - mean) / np.where(varies, spread, 1.0)
    target, cost = np.where(labels, 1.0, -1.0), STRENGTH * counts

    def loss(values: Floats) -> tuple[float, Floats]:
        margin = target * (scaled @ values[1:] + values[0])
        slope = -target * 0.5 * (1 - np.tanh(margin / 2)) * cost
        ridge = np.concatenate([[0.0], values[1:]])
        gradient = np.concatenate([[slope.sum()], slope @ scaled]) + ridge
        return float(cost @ np.logaddexp(0, -margin) + ridge @ ridge / 2), gradient

    bounds = [(None, None), *((0.0, None) if sign > 0 else (None, 0.0) for sign in signs.values())]
    solution = minimize(loss, np.zeros(len(bounds)), jac=True, bounds=bounds, method="L-BFGS-B").x
    weights = np.where(varies, solution[1:] / np.where(varies, spread, 1.0), 0.0)
    bias = solution[0] - float(weights @ mean)
    return {BIAS: round(float(bias), 4)} | {name: round(float(weight), 4) for name, weight in zip(signs, weights, strict=True)}
