"""Times of day and dates in a text, with all their readings: 5 pm is 17:00, and 1 June is 1.6."""

import re
from collections.abc import Iterator

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"
)  # fmt: skip
NAMES = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "september" else "sept?(?:ember)?" for name in MONTHS)
NAMED = re.compile(rf"\b({NAMES})\b", re.IGNORECASE)
NEXT_TO_NUMBER = re.compile(rf"(?<=\d)(?:st|nd|rd|th)?\s(?:of\s)?({NAMES})\b|\b({NAMES})\b\.?(?=\s\d)", re.IGNORECASE)
"""The name of a month next to the number of its day or year; elsewhere `may` and `march` are other words."""
YEAR = r"((?:1[5-9]|2[01])\d\d)"
NUMERIC = re.compile(rf"\b(?:{YEAR}-(\d\d?)(?:-(\d\d?))?|(?:(\d\d?)[./])?(\d\d?)[./]{YEAR})\b")
CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d{2}))?\s?([ap])\.?m\b|\b(\d{1,2}):(\d{2})(?![\d:])", re.IGNORECASE)

Readings = tuple[int, int, frozenset[tuple[str, ...]]]
"""The characters [start, end) of a text, and their possible readings."""


def times(text: str) -> Iterator[Readings]:
    """The times of day of a text, read as numbers and as hours of the 24-hour clock."""
    for match in CLOCK.finditer(text):
        hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
        numbers = (str(hour), str(minute)) if match[4] or match[2] else (str(hour),)
        past = 12 if (match[3] or "").lower() == "p" else 0
        yield *match.span(), frozenset({numbers, (f"{hour % 12 + past if match[3] else hour}:{minute:02}",)})


def dates(text: str) -> Iterator[Readings]:
    """The dates of a text: in digits, as plain numbers or with a month among them; and names of months next to a number."""
    for match in NUMERIC.finditer(text):
        numbers = [int(number) for number in match.groups() if number]
        months = [place for place, number in enumerate(numbers) if number <= len(MONTHS)]
        yield *match.span(), frozenset({_as(numbers, month) for month in (None, *months)})
    for match in NEXT_TO_NUMBER.finditer(text):
        group = 1 if match[1] else 2
        yield *match.span(group), frozenset({(_month(match[group]),)})


def months(text: str) -> Iterator[str]:
    """Every month that a text names, next to a number or not."""
    return (_month(match[1]) for match in NAMED.finditer(text))


def _as(numbers: list[int], month: int | None) -> tuple[str, ...]:
    return tuple(f"month {number}" if place == month else str(number) for place, number in enumerate(numbers))


def _month(name: str) -> str:
    return f"month {1 + next(place for place, month in enumerate(MONTHS) if month.startswith(name[:3].lower()))}"
