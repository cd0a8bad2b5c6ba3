"""Times of day, dates and months in a text, with all their readings: 5 pm is 17:00, and 1 June is 1.6."""

import re
from collections.abc import Iterator

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"
)  # fmt: skip
NAMES = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "september" else "sept?(?:ember)?" for name in MONTHS)
NAMED = re.compile(rf"\b(?:{NAMES})\b(?!(?<=may) (?:i|we|you)\b)", re.IGNORECASE)
AMBIGUOUS = frozenset({"jan", "mar", "march", "may", "jun", "dec"})
"""Words that are months only with a capital, or behind a day: `3rd of march`."""
DAY = re.compile(r"\d(?:(?:st|nd|rd|th)\s(?:of\s)?|\sof\s)\Z", re.IGNORECASE)
YEAR = r"((?:1[5-9]|2[01])\d\d)"
NUMERIC = re.compile(rf"\b(?=\d)(?:{YEAR}-(\d\d?)(?:-(\d\d?))?|(?:(\d\d?)[./])?(\d\d?)[./]{YEAR})\b")
CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d{2}))?\s?([ap])\.?m\b|\b(\d{1,2}):(\d{2})(?![\d:])", re.IGNORECASE)

Reading = tuple[str, ...]
Readings = tuple[int, int, tuple[Reading, ...]]
"""The characters [start, end) of a text, and their possible readings, the most likely first."""


def times(text: str) -> Iterator[Readings]:
    """The times of day of a text, read as numbers and as hours of the 24-hour clock."""
    for match in CLOCK.finditer(text):
        hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
        numbers = (str(hour), str(minute)) if match[4] or match[2] else (str(hour),)
        past = 12 if (match[3] or "").lower() == "p" else 0
        yield *match.span(), (numbers, (f"{hour % 12 + past if match[3] else hour}:{minute:02}",))


def dates(text: str) -> Iterator[Readings]:
    """The dates of a text in digits, with a month among the numbers or as plain numbers."""
    for match in NUMERIC.finditer(text):
        numbers = [int(number) for number in match.groups() if number]
        months = [place for place, number in enumerate(numbers) if number <= len(MONTHS)]
        # A month is behind the year, or in front of it; 6/1/2025 may be either.
        months.sort(key=lambda place: place != len(numbers) // 2)
        yield *match.span(), tuple(_as(numbers, month) for month in (*months, None))


def months(text: str) -> Iterator[Readings]:
    """The names of months in a text."""
    for match in NAMED.finditer(text):
        name = match[0]
        if name[0].isupper() or name.lower() not in AMBIGUOUS or DAY.search(text, max(0, match.start() - 8), match.start()):
            yield *match.span(), ((f"month {month_number(name)}",),)


def _as(numbers: list[int], month: int | None) -> Reading:
    return tuple(f"month {number}" if place == month else str(number) for place, number in enumerate(numbers))


def month_number(name: str) -> int:
    """The number of a month from its name, or from the first three letters of its name."""
    return 1 + next(place for place, month in enumerate(MONTHS) if month.startswith(name[:3].lower()))
