"""What documents and tables write → values of a field."""

import re
from collections.abc import Callable, Mapping
from datetime import date

from rag.core.records.sets import Cell, Field, FieldType
from rag.core.text import cells

LONGEST, ITEMS = 1000, 100
"""The most characters of a text, and items of a list."""
DAYS_FIRST = re.compile(r"(\d\d?)\.\s?(\d\d?)\.\s?(\d{4})")
YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")
TIME = re.compile(r"(?<=\d{4}-\d\d-\d\d)[T ][\d:.,Z+-]+$")


class UnfitError(ValueError):
    """A value that a field cannot have, with the reason."""


def fitted(field: Field, value: object) -> Cell:
    """The value in the type of a field, texts on one line; UnfitError for another type and for what is not allowed.

    Numbers may have units, dates may be months or years. Lists are lists, or texts with commas or semicolons.
    """
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    made = READ[field.type](value if isinstance(value, list | tuple) and field.type == "list" else text)
    misplaced = isinstance(value, dict) or (isinstance(value, list | tuple) and field.type != "list")
    if made is None or made == () or misplaced:
        raise UnfitError(f"is {shown(value)}, which is no {field.type}")
    items = made if isinstance(made, tuple) else (made,)
    if len(items) > ITEMS or any(isinstance(item, str) and len(item) > LONGEST for item in items):
        raise UnfitError(f"is longer than {LONGEST} characters or {ITEMS} items: {shown(value)}")
    if not field.allowed:
        return made
    known = {folded(word): word for word in field.allowed}
    if any(folded(item) not in known for item in items):
        raise UnfitError(f"is {shown(value)}, and allowed is {', '.join(field.allowed)}")
    allowed = tuple(dict.fromkeys(known[folded(item)] for item in items))
    return allowed if isinstance(made, tuple) else allowed[0]


def folded(value: object) -> object:
    """A value to compare: texts without regard to case and white space, lists without order."""
    if isinstance(value, tuple):
        return frozenset(map(folded, value))
    return " ".join(value.split()).casefold() if isinstance(value, str) else value


def shown(value: object, most: int = 80) -> str:
    """A value as a message quotes it."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _number(text: str) -> int | float | None:
    found = cells.number(text)
    return found and (int(found[0]) if found[0].is_integer() else found[0])


def _date(text: str) -> str | None:
    """A day, a month or a year that exists, in ISO 8601."""
    text = DAYS_FIRST.sub(lambda match: f"{match[3]}-{int(match[2]):02}-{int(match[1]):02}", TIME.sub("", text))
    found = text if YEAR.fullmatch(text) else cells.date(text)
    try:
        date.fromisoformat(f"{found}-01-01"[:10])
    except ValueError:
        return None
    return found


def _items(value: str | list[object] | tuple[object, ...]) -> tuple[str, ...]:
    items = re.split("[,;]", value) if isinstance(value, str) else map(str, value)
    return tuple(dict.fromkeys(" ".join(item.split()) for item in items if item.strip()))


READ: Mapping[FieldType, Callable[..., Cell]] = {
    "text": lambda text: text or None,
    "number": _number,
    "date": _date,
    "boolean": lambda text: {"true": True, "false": False}.get(text.casefold()),
    "list": _items,
}
