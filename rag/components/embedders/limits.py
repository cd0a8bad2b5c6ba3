"""Checks that embedders make on their parameters before any model loads."""

from rag.core.errors import ConfigError


def check_within(where: str, value: int | None, lowest: int, highest: int | None = None) -> None:
    """Raise ConfigError unless `value` is a whole number from `lowest` to `highest`; None passes."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest or (highest is not None and value > highest):
        wanted = f"from {lowest} to {highest}" if highest is not None else f"of at least {lowest}"
        raise ConfigError(where, f"found {value!r}", f"a whole number {wanted}")
