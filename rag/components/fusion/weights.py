"""Checks of the weights of a fusion."""

from collections.abc import Sequence
from math import isfinite

from rag.core.errors import ConfigError


def check_weights(where: str, weights: Sequence[float]) -> tuple[float, ...]:
    """The weights as a tuple; ConfigError unless they are finite and not negative, and at least one is above 0."""
    if not all(isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ConfigError(where, f"{list(weights)} are not valid weights", "numbers of 0 or more, at least one above 0")
    return tuple(weights)


def check_count(where: str, weights: Sequence[float], names: Sequence[str]) -> None:
    """Raise ConfigError unless there is one weight per index."""
    if len(weights) != len(names):
        what = f"{len(weights)} weights for {len(names)} indexes ({', '.join(names)})"
        raise ConfigError(where, what, "one weight per index, in the order of `index`")
