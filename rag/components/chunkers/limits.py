"""Checks that every chunker makes on its parameters before anything is cut."""

from rag.core.errors import ConfigError


def check_at_least(where: str, value: int, lowest: int) -> None:
    """Raise ConfigError unless `value` is a whole number of at least `lowest`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise ConfigError(where, f"found {value!r}", f"a whole number of at least {lowest}")


def check_below(where: str, value: int, name: str, limit: int) -> None:
    """Raise ConfigError unless `value` is a whole number from 0 to below `limit`, the value of the parameter `name`."""
    check_at_least(where, value, 0)
    if value >= limit:
        raise ConfigError(where, f"{value} is not below {name}={limit}", f"at most {limit - 1}, or a greater {name}")
