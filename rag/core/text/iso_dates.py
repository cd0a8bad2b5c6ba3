"""Dates in a text as ISO 8601: `1 April 2025`, `April 1, 2025` and `1.4.2025` are 2025-04-01, `April 2025` is 2025-04.

Names of months are English. Days come before months where a full stop divides them; `3/4/2025` may be either, and is no date
unless one of both is above 12.
"""

import re
from collections.abc import Iterator
from datetime import date

from rag.core.text.calendar import MONTHS
from rag.core.text.calendar import NAMES as NAME

YEAR = r"(?:1[5-9]|2[01])\d\d"
DAY = r"(?:st|nd|rd|th)?"
DATE = re.compile(
    rf"""\b(?:
    (?P<y1>{YEAR})-(?P<m1>\d\d?)(?:-(?P<d1>\d\d?)(?:T[\d:.,Z+-]*)?)?
  | (?P<d2>\d\d?){DAY}\.?\ (?:of\ )?(?P<n2>{NAME})\.?,?\ (?P<y2>{YEAR})
  | (?P<n3>{NAME})\.?\ (?:(?P<d3>\d\d?){DAY},?\ )?(?P<y3>{YEAR})
  | (?P<d4>\d\d?)\.\ ?(?P<m4>\d\d?)\.\ ?(?P<y4>{YEAR})
  | (?P<a5>\d\d?)/(?P<b5>\d\d?)/(?P<y5>{YEAR})
  | (?P<y6>{YEAR})
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)


def iso_dates(text: str) -> Iterator[tuple[int, int, str]]:
    """The dates of a text that exist: their characters [start, end), and a day, a month or a year in ISO 8601."""
    for match in DATE.finditer(text):
        part = {name[0]: value for name, value in match.groupdict().items() if value}
        if "a" in part:
            part |= _ordered(int(part["a"]), int(part["b"]))
        if "n" in part:
            part["m"] = str(1 + next(at for at, month in enumerate(MONTHS) if month.startswith(part["n"][:3].lower())))
        written = "-".join([part["y"], *(f"{int(part[name]):02}" for name in "md" if name in part)])
        if "b" not in part or "m" in part:
            whole = f"{written}-01-01"[:10]
            if _exists(whole):
                yield *match.span(), written


def _ordered(first: int, second: int) -> dict[str, str]:
    """The day and the month of `3/14` and `14/3`; nothing where both may be a month."""
    if first == second or (first > len(MONTHS)) != (second > len(MONTHS)):
        return {"d": str(max(first, second)), "m": str(min(first, second))}
    return {}


def _exists(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True
