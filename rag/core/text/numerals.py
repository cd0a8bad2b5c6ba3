"""Numbers in a text, in digits or English words, by their values: 1,000, 1 000 and "one thousand" are equal.

So are 5 % to 10 % and 5-10 %, 5 pm and 17:00, 1 June and 1.6., 2024/25 and 2024/2025.

A number has one or more *readings*, each a tuple of values: `1.000` is 1000 or 1, `1.6.2025` is 1, 6 and 2025.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from rag.core.text.calendar import dates, months, times

NAMES = (
    "zero zeroth|one first|two second|three third|four fourth|five fifth|six sixth|seven seventh|eight eighth|nine ninth|"
    "ten tenth|eleven eleventh|twelve twelfth dozen|thirteen thirteenth|fourteen fourteenth|fifteen fifteenth|"
    "sixteen sixteenth|seventeen seventeenth|eighteen eighteenth|nineteen nineteenth"
)
"""The names of the numbers below twenty, in order."""
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "trillion": 1_000_000_000_000}
WORTH = (
    {word: value for value, words in enumerate(NAMES.split("|")) for word in words.split()}
    | {word: 10 * value for value, word in enumerate(TENS, 2)}
    | {f"{word[:-1]}ieth": 10 * value for value, word in enumerate(TENS, 2)}
)
ALL = "|".join(sorted((*WORTH, *SCALES), key=len, reverse=True))

SHORT = {"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "bn": 1_000_000_000}
PARTS = {"half": "0.5 50%", "quarter": "0.25 25%", "quarters": "0.75 75%", "once": "1", "twice": "2"}
"""Words for numbers that replies write in digits."""

MOST = 15
"""The most words of one number, because a document may repeat `hundred` a thousand times."""
LONGEST = 40
"""The most digits of a number that is multiplied by a scale; longer ones are only compared."""

FRACTIONS = "¼½¾⅓⅔⅛⅜⅝⅞"
GAP = "\u00a0\u2009\u202f"
PERCENT = r"%|per\s?cent\b|percentage points?\b"
UNIT = rf"(?:\s?(?P<percent>{PERCENT})|\s?(?P<scale>thousand|million|billion|trillion|k|mn|bn|(?(money)m|(?!)))\b)?"
"""An `m` means metres, except after an amount of money."""
DIGITS = re.compile(
    rf"(?P<money>[£$€]\s?)?(?P<digits>\d{{1,3}}(?: \d{{3}})+(?![\d.,])|\d+(?:[.,'’{GAP}]\d+)*)(?P<part>[{FRACTIONS}])?{UNIT}",
    re.IGNORECASE,
)
TO = re.compile(r"\s?(?:[-–—]|to|and|or)\s?", re.IGNORECASE)
"""The text between the two ends of a range; the first end may have its unit from the second."""
PART = re.compile(rf"\b({'|'.join(PARTS)})\b", re.IGNORECASE)
YEARS = re.compile(r"\b(\d\d)\d\d\s?[/–-]\s?(\d\d)\b")
COLUMN = re.compile(rf"\(\s?%|\bin (?:{PERCENT})|\bpercentages?\b", re.IGNORECASE)
"""A mark that numbers elsewhere, such as in a column, are percentages."""
SPELT = re.compile(
    rf"\b(?P<words>(?:{ALL})(?:(?:\s+and\s+|[\s-]+)(?:{ALL})){{0,{MOST}}})\b(?P<percent>\s?(?:{PERCENT}))?", re.IGNORECASE
)
ENUMERATED = re.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
"""The number of a list item, which is ignored."""


@dataclass(frozen=True, slots=True)
class Number:
    """The characters [start, end) of a text and their readings; `spelt` is True for a number in words."""

    start: int
    end: int
    readings: frozenset[tuple[str, ...]]
    spelt: bool = False

    def among(self, known: frozenset[str]) -> bool:
        """True if all values of one of its readings are known."""
        return any(all(value in known for value in reading) for reading in self.readings)


def numbers(text: str) -> list[Number]:
    """All numbers of a text except those of list items; those in digits come first."""
    text = ENUMERATED.sub(_blank, text)
    dated = [Number(*readings) for read in (times, dates) for readings in read(text)]
    characters = list(text)
    for number in dated:
        characters[number.start : number.end] = " " * (number.end - number.start)
    text = "".join(characters)
    # In 1.2 million the word belongs to the digits.
    return [*_in_digits(text), *dated, *_in_words(DIGITS.sub(_blank, text))]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def values(text: str) -> frozenset[str]:
    """Every value in the readings of a text: percentages with and without their sign, phrases and their single words."""
    read = {value for number in numbers(text) for reading in number.readings for value in reading}
    singly = {str(WORTH[word]) for match in SPELT.finditer(text) for word in _words(match["words"]) if word in WORTH}
    # 5 k may be 5 kelvins; 5 thousand is never 5.
    bare = (match for match in DIGITS.finditer(text) if (match["scale"] or "").lower() not in SCALES)
    unscaled = {value for match in bare for reading in _readings(match["digits"]) for value in reading}
    parts = {value for word in PART.findall(text) for value in PARTS[word.lower()].split()}
    parts |= {_canonical(Decimal(str(round(unicodedata.numeric(one), 6)))) for one in FRACTIONS if one in text}
    years = {century + year for century, year in YEARS.findall(text)}
    known = read | singly | unscaled | parts | years | {value.rstrip("%") for value in read} | set(months(text))
    return frozenset(known | {f"{value}%" for value in known} if COLUMN.search(text) else known)


def _in_digits(text: str) -> Iterator[Number]:
    matches = list(DIGITS.finditer(text))
    for match, following in itertools.zip_longest(matches, matches[1:]):
        start, end = match.span("digits")[0], match.end()
        readings = _measured(match, match)
        if following and not match["percent"] and not match["scale"] and TO.fullmatch(text, end, following.start()):
            readings |= _measured(match, following)
        yield Number(start, end, readings)


def _measured(match: re.Match[str], unit: re.Match[str]) -> frozenset[tuple[str, ...]]:
    """The readings of digits with the unit after them, or after the other end of their range."""
    readings, sign = _readings(match["digits"]), "%" if unit["percent"] else ""
    more = Decimal(str(round(unicodedata.numeric(match["part"]), 6))) if match["part"] else Decimal(0)
    scale = SHORT.get(unit["scale"].lower()) or SCALES[unit["scale"].lower()] if unit["scale"] else 1
    if more or scale != 1:
        readings = {(*reading[:-1], _reckoned(reading[-1], more, scale)) for reading in readings}
    return frozenset(tuple(value + sign for value in reading) for reading in readings)


def _reckoned(value: str, more: Decimal, scale: int) -> str:
    return _canonical((Decimal(value) + more) * scale) if len(value) <= LONGEST else value


def _in_words(text: str) -> Iterator[Number]:
    for match in SPELT.finditer(text):
        value = _worth(_words(match["words"]))
        yield Number(*match.span(), frozenset({(str(value) + ("%" if match["percent"] else ""),)}), spelt=True)


def _words(phrase: str) -> list[str]:
    return [word for word in re.split(r"[\s-]+", phrase.lower()) if word != "and"]


def _worth(words: list[str]) -> int:
    total, current = 0, 0
    for word in words:
        if word == "hundred":
            current = max(current, 1) * 100
        elif word in SCALES:
            total, current = total + max(current, 1) * SCALES[word], 0
        else:
            current = 12 * max(current, 1) if word == "dozen" else current + WORTH[word]
    return total + current


def _readings(digits: str) -> set[tuple[str, ...]]:
    """The readings of digits with marks between them."""
    parts, marks = re.split(r"\D", digits), re.findall(r"\D", digits)
    apart = tuple(_canonical(Decimal(part)) for part in parts)
    grouped = len(parts[0]) <= 3 and parts[0] != "0" and all(len(part) == 3 for part in parts[1:])
    if not marks:
        return {apart}
    if len(set(marks)) > 1:
        return _mixed(parts, marks) or {apart}
    found = set[tuple[str, ...]]()
    if grouped:
        found.add((_canonical(Decimal("".join(parts))),))
    if len(marks) == 1 and (marks[0] == "." or (marks[0] == "," and not grouped)):
        # A comma before three digits groups them, a point may do either.
        found.add((_canonical(Decimal(".".join(parts))),))
    if marks[0] == " " or not found:
        found.add(apart)
    return found


def _mixed(parts: list[str], marks: list[str]) -> set[tuple[str, ...]]:
    """1,234.5 and 1.234,5: the last mark begins the fraction."""
    grouped = len(set(marks[:-1])) == 1 and marks[-1] in ".," and all(len(part) == 3 for part in parts[1:-1])
    return {(_canonical(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}")),)} if grouped and len(parts[0]) <= 3 else set()


def _canonical(value: Decimal) -> str:
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
