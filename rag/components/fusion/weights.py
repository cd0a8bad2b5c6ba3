"""Checks that fusions share."""

from collections.abc import Sequence
from math import isfinite

from rag.core.errors import ConfigError


def check_weights(where: str, weights: Sequence[float]) -> tuple[float, ...]:
    """The weights, if all are finite and none is negative and not all are zero; ConfigError otherwise."""
    if not all(isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ConfigError(where, f"{list(weights)} are no weights", "numbers of 0 or more, at least one above 0")
    return tuple(weights)


def check_count(where: str, weights: Sequence[float], names: Sequence[str]) -> None:
    """Raise ConfigError unless there is one weight per index."""
    if len(weights) != len(names):
        what = f"{len(weights)} weights for {len(names)} indexes ({', '.join(names)})"
        raise ConfigError(where, what, "one weight per index, in the order of `index`")
