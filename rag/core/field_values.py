"""What documents and tables write → values of a field: numbers, dates in ISO 8601, true or false, allowed words."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from rag.core.documents import Value
from rag.core.record_sets import Cell, Field, FieldType
from rag.core.text.iso_dates import iso_dates
from rag.core.text.numerals import numbers

LONGEST = 1000
"""Characters of the longest text of a field."""
ITEMS = 100
"""The most items of a list."""
BETWEEN = re.compile(r"[,;\n]")
"""The marks between the items of a list."""
MINUS = re.compile(r"(?:\A|[\s(])[-−–][£$€]?\s?\Z")
"""The end of a text before a negative number."""


class UnfitError(ValueError):
    """A value that a field cannot have, with the reason."""


def fitted(field: Field, value: Value | Sequence[str]) -> Cell:
    """The value in the type of a field; UnfitError for another type, for a value that is not allowed, and for a blank one."""
    if isinstance(value, str) and not value.strip():
        raise UnfitError("is empty")
    return READ[field.type](field, value)


def same(field: Field, one: Cell, other: Cell) -> bool:
    """True if two values of a field say the same: texts without regard to case and white space, lists without order."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return {folded(item) for item in one} == {folded(item) for item in other}
    return folded(one) == folded(other) if isinstance(one, str) and isinstance(other, str) else one == other


def folded(text: str) -> str:
    """A text without regard to case and white space."""
    return " ".join(text.split()).casefold()


def shown(value: object, most: int = 80) -> str:
    """A value as a message quotes it."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(field: Field, value: object) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, str | int | float):
        raise UnfitError(f"is {shown(value)}, which is no text")
    text = " ".join(str(value).split())
    if len(text) > LONGEST:
        raise UnfitError(f"has {len(text):,} characters, and {LONGEST:,} is the most: {shown(text)}")
    if not field.allowed:
        return text
    known = next((word for word in field.allowed if folded(word) == folded(text)), None)
    if known is None:
        raise UnfitError(f"is {shown(text)}, and allowed is {', '.join(field.allowed)}")
    return known


def _list(field: Field, value: object) -> tuple[str, ...]:
    items = BETWEEN.split(value) if isinstance(value, str) else value
    if not isinstance(items, Sequence):
        items = [str(value)]
    found = tuple(dict.fromkeys(_text(field, item) for item in items if not isinstance(item, str) or item.strip()))
    if not found:
        raise UnfitError("is empty")
    if len(found) > ITEMS:
        raise UnfitError(f"has {len(found):,} items, and {ITEMS} is the most")
    return found


def _number(field: Field, value: object) -> int | float:
    if isinstance(value, str):
        value = _only_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnfitError(f"is {shown(value)}, which is no number")
    return int(value) if float(value).is_integer() else value


def _only_number(text: str) -> float:
    found = numbers(text[:LONGEST])
    if len(found) != 1:
        raise UnfitError(f"is {shown(text)}, which states {len(found) or 'no'} number{'s' * (len(found) > 1)}")
    readings = {reading[0].rstrip("%") for reading in found[0].readings if len(reading) == 1}
    if len(readings) != 1:
        raise UnfitError(f"is {shown(text)}, which may be {' or '.join(sorted(readings)) or 'several numbers'}")
    size = Decimal(readings.pop())
    return float(-size if MINUS.search(text[: found[0].start]) else size)


def _date(field: Field, value: object) -> str:
    text = str(value)[:LONGEST]
    found = list(dict.fromkeys(iso for _, _, iso in iso_dates(text)))
    if isinstance(value, bool | float) or len(found) != 1:
        raise UnfitError(f"is {shown(value)}, which states {len(found) or 'no'} date{'s' * (len(found) > 1)}")
    return found[0]


def _boolean(field: Field, value: object) -> bool:
    known = {"true": True, "false": False}
    truth = known.get(str(value).strip().lower())
    if truth is None:
        raise UnfitError(f"is {shown(value)}, which is neither true nor false")
    return truth


READ: Mapping[FieldType, Callable[[Field, object], Cell]] = {
    "text": _text,
    "number": _number,
    "date": _date,
    "boolean": _boolean,
    "list": _list,
}
