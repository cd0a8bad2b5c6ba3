"""How figures are written, everywhere alike: terminal, reports, verdicts, files of a gate."""

from typing import Protocol

DASH = "–"
"""An unknown value."""


def figure(value: float | None, digits: int = 3, signed: bool = False) -> str:
    """A figure without its leading zero: `.712`, `-.030`, DASH for None and NaN, never `-.000`.

    `signed` writes a plus before a positive value.
    """
    if value is None or value != value:
        return DASH
    rounded = round(value, digits) + 0.0
    text = f"{rounded:{'+' if signed and rounded else ''}.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def brackets(low: float | None, high: float | None, digits: int = 3) -> str:
    """Both ends of an interval, `[.680, .744]`; empty where one is unknown."""
    ends = figure(low, digits), figure(high, digits)
    return "" if DASH in ends else f"[{', '.join(ends)}]"


def interval(
    mean: float | None, low: float | None = None, high: float | None = None, digits: int = 3, signed: bool = False
) -> str:
    """A mean with its interval, `.712 [.680, .744]`; `signed` writes a difference, `+.041 [-.028, .110]`."""
    return f"{figure(mean, digits, signed)} {brackets(low, high, digits)}".rstrip()


class Interval(Protocol):
    """A mean, or a difference of means, with its 95 % interval; NaN for what is unknown."""

    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102


def with_interval(found: Interval, digits: int = 3, signed: bool = False) -> str:
    """The mean and the interval of a record, as in `interval`."""
    return interval(found.mean, found.low, found.high, digits, signed)


def amount(count: int, noun: str) -> str:
    """A count with its noun: `1 trial`, `1,200 trials`."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"
