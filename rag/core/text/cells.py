"""The types of the columns of a table: numbers with their unit, dates, booleans, lists, else text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.records.display import SIGNS
from rag.core.records.sets import Cell, Field
from rag.core.text.values.dates import NAMES, month_number

NUMBER = re.compile(
    rf"""
    (?P<first>[{SIGNS}])? \s? (?P<open>\()? \s* (?:(?P<minus>[-−–]) \s?)? (?P<sign>[{SIGNS}] \s? (?P<second>[-−–])?)? \s?
    (?P<digits>\d+ (?:[.,'’ \u00a0\u202f]\d+)*) (?P<close>\s?\))?
    (?: (?P<unit>%|°[CF]?|(?:st|nd|rd|th)\b)
      | \s (?P<words>%|[^\W\d]+[²³]?(?:[ /.-][^\W\d]+[²³]?){{0,2}})
      | (?P<short>[^\W\d]{{1,3}}) )?
    """,
    re.VERBOSE,
)
NOTES = re.compile(r"(?:\s*(?:\[[^\]]{1,8}\]|[*†‡]+))+$")
"""Marks of footnotes at the end of a cell."""
POINT = re.compile(r"(?:\d{1,3}(?:[,'’ \u00a0\u202f]\d{3})+|\d+)(?:\.\d+)?")
COMMA = re.compile(r"(?:\d{1,3}(?:[.'’ \u00a0\u202f]\d{3})+|\d+)(?:,\d+)?")
"""Digits with a decimal point, and with a decimal comma."""
CODE = re.compile(r"0\d")
"""The start of digits that are no amount, such as 0117."""
ORDINAL = ("st", "nd", "rd", "th")
DATE = re.compile(
    rf"(?:(?P<iso>\d{{4}}-\d\d(?:-\d\d)?)|(?:[^\W\d]+,\s+)?(?:(?P<day>\d\d?)(?:st|nd|rd|th)?\s+)?(?P<month>{NAMES})\.?"
    rf"(?:\s+(?P<second>\d\d?)(?:st|nd|rd|th)?,?)?,?\s+(?P<year>1\d{{3}}|20\d\d))",
    re.IGNORECASE,
)
HEADED = re.compile(r"\(([^()]{1,12})\)\s*$")
"""The unit at the end of a header: Height (m)."""
SHARE = 0.9
"""The least share of the cells with digits that are numbers, or of all cells that are dates."""
LISTED = 2
"""The least number of cells with semicolons in a column of lists."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words of cells: those for yes and no."""

    yes: frozenset[str]
    no: frozenset[str]


def number(text: str, has_comma: bool = False) -> tuple[float, str] | None:
    """The number of a text and its unit; None if it is anything else. Parentheses make it negative."""
    match = NUMBER.fullmatch(NOTES.sub("", text.strip()))
    digits = match["digits"] if match else ""
    if not match or not (COMMA if has_comma else POINT).fullmatch(digits) or CODE.match(digits):
        return None
    if bool(match["open"]) != bool(match["close"]) or (match["first"] and match["sign"]):
        return None
    digits = re.sub(r"[^\d,]" if has_comma else r"[^\d.]", "", digits).replace(",", ".")
    value = float(digits) * (-1 if match["open"] or match["minus"] or match["second"] else 1)
    behind = match["unit"] or match["words"] or match["short"] or ""
    unit = "" if behind in ORDINAL else behind
    sign = match["first"] or (match["sign"] or "")[:1]
    return value, f"{sign} {unit}".strip()


def date(text: str) -> str | None:
    """A date with a year and a month, in ISO 8601; None for another text."""
    match = DATE.fullmatch(NOTES.sub("", text.strip()))
    if not match:
        return None
    if match["iso"]:
        return match["iso"]
    day = match["day"] or match["second"]
    return f"{match['year']}-{month_number(match['month']):02}" + (f"-{int(day):02}" if day else "")


def column(name: str, texts: Sequence[str], words: Words) -> tuple[Field, list[Cell]]:
    """The field of a column, and its values: None for a cell that is empty or does not fit the type."""
    filled = [text for text in texts if any(map(str.isalnum, text))]
    digits = [text for text in filled if any(map(str.isdecimal, text))]
    given = [text for text in texts if text]
    if given and all(text.casefold() in words.yes | words.no for text in given):
        return Field(name, "boolean"), [text.casefold() in words.yes if text else None for text in texts]
    has_comma = sum(number(text, True) is not None for text in digits) > sum(number(text) is not None for text in digits)
    read = [number(text, has_comma) for text in texts]
    units = {each[1].casefold().rstrip(".").removesuffix("s") for each in read if each}
    if digits and 2 * len(digits) > len(filled) and sum(map(bool, read)) >= SHARE * len(digits) and _is_one(units):
        headed = HEADED.search(name)
        unit = next((each[1] for each in read if each and each[1]), "") if len(units - {""}) == 1 else ""
        unit = unit or (headed[1] if headed and not any(map(str.isdecimal, headed[1])) else "")
        return Field(name, "number", unit=unit), [each and each[0] for each in read]
    if digits and sum(date(text) is not None for text in filled) >= SHARE * len(filled):
        return Field(name, "date"), [date(text) for text in texts]
    if sum(";" in text for text in filled) >= LISTED:
        parts = [tuple(part.strip() for part in text.split(";") if part.strip()) for text in texts]
        return Field(name, "list"), [each or None for each in parts]
    return Field(name), [text if any(map(str.isalnum, text)) else None for text in texts]


def _is_one(units: set[str]) -> bool:
    """True for one unit in all cells; amounts of money and percentages may stand among plain numbers."""
    return len(units) <= 1 or all(unit == "" or unit in f"{SIGNS}%" for unit in units)
