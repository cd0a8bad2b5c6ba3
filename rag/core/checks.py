"""Checks of constructor parameters: each raises a ConfigError that names the key, the value and what is expected."""

import math
from collections.abc import Iterable
from typing import Any

from rag.core.errors import ConfigError, closest


def is_whole(value: object, lowest: int, highest: int | None = None) -> bool:
    """True for an int, not a bool, from `lowest` to `highest`; None for no upper limit."""
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= (value if highest is None else highest)


def check_whole(where: str, value: object, lowest: int, highest: int | None = None, hint: str = "") -> None:
    """Raise ConfigError unless `value` is a whole number from `lowest` to `highest`; the error ends with `hint`."""
    if not is_whole(value, lowest, highest):
        limits = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
        raise ConfigError(where, f"is {value!r}", _with(f"a whole number {limits}", hint))


def check_number(where: str, value: object, lowest: float = -math.inf, highest: float = math.inf, hint: str = "") -> None:
    """Raise ConfigError unless `value` is a finite number from `lowest` to `highest`; the error ends with `hint`."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not (number and lowest <= value <= highest):  # type: ignore[operator]
        limits = f" of at least {lowest:g}" if highest == math.inf else f" from {lowest:g} to {highest:g}"
        raise ConfigError(where, f"is {value!r}", _with(f"a number{limits if lowest > -math.inf else ''}", hint))


def check_choice(where: str, value: Any, known: Iterable[str]) -> None:
    """Raise ConfigError, naming the closest known word, unless `value` is one of `known`."""
    known = list(known)
    if value not in known:
        raise ConfigError(where, f"there is no {value!r}", closest(str(value), known))


def _with(expected: str, hint: str) -> str:
    return f"{expected}; {hint}" if hint else expected
