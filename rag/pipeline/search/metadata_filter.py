"""Conditions on metadata: a value, one of several values, or a range of numbers or dates."""

import re
from collections.abc import Mapping, Sequence

from rag.core.errors import UserError
from rag.core.types import Value

Condition = Value | Sequence[Value] | Mapping[str, Value]
"""A value, a list of accepted values, or a range with `from`, `to` or both, ends included."""

ENDS = ("from", "to")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")


def fitting(where: str, condition: Condition, values: Sequence[Value | None]) -> list[bool]:
    """Which values fulfil a condition; None fulfils none.

    Values are compared as a form sends them: 2, 2.0 and "2" are equal. An end of a range is a number, or a date in ISO 8601 or
    its beginning: `"to": "2024"` includes all of 2024, and `"from": "2024-05"` a document of 2024 without a month. UserError
    for another end, and if no value is of the kind of the ends.
    """
    if not isinstance(condition, Mapping):
        accepted = {_written(value) for value in ([condition] if isinstance(condition, Value) else condition)}
        return [value is not None and _written(value) in accepted for value in values]
    if not condition or not condition.keys() <= set(ENDS):
        raise UserError(where, f"the range {dict(condition)!r} has other ends", 'write {"from": …}, {"to": …}, or both')
    for end in condition.values():
        if isinstance(end, bool) or not (NUMBER.fullmatch(str(end)) or DATE.fullmatch(str(end))):
            raise UserError(where, f"{end!r} is neither a number nor a date", "write a number, or a date such as 2025-04-01")
    low, high = condition.get("from"), condition.get("to")
    found = [_between(value, low, high) for value in values]
    if all(within is None for within in found):
        example = next(value for value in values if value is not None)
        kind = "no number" if all(_number(end) is not None for end in condition.values()) else "no date"
        raise UserError(where, f"{kind} is there to compare, but {example!r}", "give a list of values instead of a range")
    return [bool(within) for within in found]


def written_conditions(texts: Sequence[str]) -> dict[str, Condition]:
    """The conditions of texts such as `status=current` or `year=2023..2024`; several values of one key are alternatives.

    UserError for another form, and for a key with a range and another condition.
    """
    found: dict[str, Condition] = {}
    for text in texts:
        key, is_pair, value = text.partition("=")
        low, is_range, high = value.partition("..")
        known = found.get(key, [])
        if not key or not is_pair or not value or (is_range and not low + high):
            raise UserError("--where", f"{text!r} is no condition", "write key=value, key=low..high, key=low.. or key=..high")
        if isinstance(known, Mapping) or (is_range and known):
            raise UserError("--where", f"{key!r} has a range and another condition", "give one range, or values")
        ends = {end: each for end, each in zip(ENDS, (low, high), strict=True) if each}
        found[key] = ends if is_range else [*known, value]  # type: ignore[misc]  # a list, because it is no range
    return found


def _between(value: Value | None, low: Value | None, high: Value | None) -> bool | None:
    """Whether a value lies between two ends; None if it cannot be compared with them."""
    ends = [end for end in (low, high) if end is not None]
    number = _number(value)
    if number is not None and all(_number(end) is not None for end in ends):
        least, most = _number(low), _number(high)
        return (least is None or least <= number) and (most is None or number <= most)
    if not isinstance(value, str) or not all(DATE.fullmatch(str(each)) for each in (value, *ends)):
        return None
    first, last = "" if low is None else str(low), "" if high is None else str(high)
    # A year, a month or a day stands for all of its time: a date and an end are compared as far as both go.
    return first[: len(value)] <= value[: len(first)] and value[: len(last)] <= last[: len(value)]


def _number(value: Value | None) -> float | None:
    if isinstance(value, bool) or value is None or (isinstance(value, str) and not NUMBER.fullmatch(value)):
        return None
    return float(value)


def _written(value: Value) -> str:
    """A value as a web form sends it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
