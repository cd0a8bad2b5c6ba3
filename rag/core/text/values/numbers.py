"""Numbers in a text, in digits or English words, by their values: 1,000, 1 000 and "one thousand" are equal.

So are 5 % to 10 % and 5-10 %, 5 pm and 17:00, 1 June and 1.6., 2024/25 and 2024/2025.

A number has one or more *readings*, each a tuple of values, the most likely in English first: `1.000` is 1 or 1000, `1.6.2025`
is the first day of month 6, or 1, 6 and 2025.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rag.core.text.values.dates import MONTHS, Reading, dates, months, times
from rag.core.text.values.units import unit_of

NAMES = (
    "zero zeroth|one first|two second twice|three third|four fourth|five fifth|six sixth|seven seventh|eight eighth|nine ninth|"
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
CARDINALS = {words.split()[0]: value for value, words in enumerate(NAMES.split("|")) if value > 1}
ALL = "|".join(sorted((*WORTH, *SCALES), key=len, reverse=True))

SHORT = {"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "bn": 1_000_000_000}
PARTS = {"half": "0.5 50%", "quarter": "0.25 25%", "quarters": "0.75 75%", "once": "1"}
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
    rf"(?=[£$€\d])(?P<money>[£$€]\s?)?(?P<digits>\d{{1,3}}(?: \d{{3}})+(?!\d|[.,]\d)|\d+(?:[.,'’{GAP}]\d+)*)"
    rf"(?P<part>[{FRACTIONS}])?{UNIT}",
    re.IGNORECASE,
)
TO = re.compile(r"\s?(?:[-–—]|to|and|or)\s?", re.IGNORECASE)
"""The text between the two ends of a range; the first end may have its unit from the second."""
PART = re.compile(rf"\b({'|'.join(PARTS)})\b", re.IGNORECASE)
YEARS = re.compile(r"\b(\d\d)\d\d\s?[/–-]\s?(\d\d)\b")
COLUMN = re.compile(rf"\(\s?%|\bin (?:{PERCENT})|\bpercentages?\b", re.IGNORECASE)
"""A mark that numbers elsewhere, such as in a column, are percentages."""
SPELT = re.compile(rf"\b(?P<words>(?:{ALL})(?:(?:\s+and\s+|[\s-]+)(?:{ALL})){{0,{MOST}}})\b(?P<percent>\s?(?:{PERCENT}))?")
"""A number in words, of a text in small letters: without regard to case the search takes four times as long."""
ENDING = re.compile(r"(?:st|nd|rd|th)\b|(?<=\d\d\d0)['’]?s\b", re.IGNORECASE)
"""The ending of an ordinal or of a decade: 8th, 1990s."""
SMALL = frozenset("012")
DIGIT, LETTERS = re.compile(r"\d"), re.compile(r"[a-z]{3,}")
COUNTING, DATING = frozenset((*WORTH, *SCALES)), frozenset(("sept", *MONTHS, *(name[:3] for name in MONTHS)))
"""The words of numbers and of months: a text without any of them is not searched for these."""
UNIT_WORD = re.compile(r"\s([^\W\d_]+)")
ENUMERATED = re.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
"""The number of a list item, which is ignored."""


@dataclass(frozen=True, slots=True)
class Number:
    """The characters [start, end) of a text and their readings; `spelt` is True for a number in words.

    `doubt` marks 0, 1 or 2 in words without a unit, which is often no number: `one of them`.
    """

    start: int
    end: int
    readings: tuple[Reading, ...]
    spelt: bool = False
    doubt: bool = False

    def among(self, known: frozenset[str]) -> bool:
        """True if all values of one of its readings are known."""
        return any(all(value in known for value in reading) for reading in self.readings)


def numbers(text: str) -> list[Number]:
    """All numbers, dates, months and times of a text in reading order, except the numbers of list items."""
    found, written = list[Number](), LETTERS.findall(text.lower())
    if DIGIT.search(text):
        text = ENUMERATED.sub(blank, text)
        found = [Number(*readings) for read in (times, dates) for readings in read(text)]
        text = blanked(text, found)
        # In 1.2 million the word belongs to the digits.
        found += _in_digits(text)
    if not DATING.isdisjoint(written):
        found += [Number(*readings) for readings in months(text)]
    if not COUNTING.isdisjoint(written):
        found += _in_words(DIGITS.sub(blank, text))
    return sorted(found, key=lambda number: number.start)


def blank(match: re.Match[str]) -> str:
    """As many blanks as a match has characters."""
    return " " * len(match[0])


def blanked(text: str, found: Sequence[Any]) -> str:
    """A text with blanks in the place of what was found in it, which has a start and an end."""
    if not found:
        return text
    characters = list(text)
    for one in found:
        characters[one.start : one.end] = " " * (one.end - one.start)
    return "".join(characters)


def cardinal(word: str) -> str | None:
    """The value of a word that counts, in digits, or as a name from `two` on: `one` is a pronoun as well. None for others."""
    digits = str(CARDINALS.get(word, re.sub(r"(?<=\d),(?=\d{3})", "", word)))
    return _canonical(Decimal(digits)) if re.fullmatch(r"\d{1,15}(\.\d+)?", digits) else None


def values(text: str) -> frozenset[str]:
    """Every value in the readings of a text: percentages with and without their sign, phrases and their single words."""
    read = {value for number in numbers(text) for reading in number.readings for value in reading}
    singly = {str(WORTH[word]) for match in _spelt(text) for word in _words(match["words"]) if word in WORTH}
    # 5 k may be 5 kelvins; 5 thousand is never 5.
    bare = (match for match in DIGITS.finditer(text) if (match["scale"] or "").lower() not in SCALES)
    unscaled = {value for match in bare for reading in _readings(match["digits"]) for value in reading}
    parts = {value for word in PART.findall(text) for value in PARTS[word.lower()].split()}
    parts |= {_canonical(Decimal(str(round(unicodedata.numeric(one), 6)))) for one in FRACTIONS if one in text}
    years = {century + year for century, year in YEARS.findall(text)}
    known = read | singly | unscaled | parts | years | {value.rstrip("%") for value in read}
    return frozenset(known | {f"{value}%" for value in known} if COLUMN.search(text) else known)


def _in_digits(text: str) -> Iterator[Number]:
    matches = list(DIGITS.finditer(text))
    for match, following in itertools.zip_longest(matches, matches[1:]):
        readings, end = _measured(match, match), match.end()
        if following and not match["percent"] and not match["scale"] and TO.fullmatch(text, end, following.start()):
            readings = _measured(match, following) + readings
        ending = ENDING.match(text, end)
        yield Number(match.start("digits"), ending.end() if ending else end, tuple(dict.fromkeys(readings)))


def _measured(match: re.Match[str], unit: re.Match[str]) -> tuple[Reading, ...]:
    """The readings of digits with the unit after them, or after the other end of their range."""
    readings, sign = _readings(match["digits"]), "%" if unit["percent"] else ""
    more = Decimal(str(round(unicodedata.numeric(match["part"]), 6))) if match["part"] else Decimal(0)
    scale = SHORT.get(unit["scale"].lower()) or SCALES[unit["scale"].lower()] if unit["scale"] else 1
    if more or scale != 1:
        plain = readings if scale == SHORT["k"] and unit["scale"] in "kK" and not unit["money"] else []  # 401(k)
        readings = [*((*reading[:-1], _reckoned(reading[-1], more, scale)) for reading in readings), *plain]
    return tuple(tuple(value + sign for value in reading) for reading in readings)


def _reckoned(value: str, more: Decimal, scale: int) -> str:
    return _canonical((Decimal(value) + more) * scale) if len(value) <= LONGEST else value


def _in_words(text: str) -> Iterator[Number]:
    for match in _spelt(text):
        value = str(_worth(_words(match["words"]))) + ("%" if match["percent"] else "")
        behind = UNIT_WORD.match(text, match.end())
        doubt = value in SMALL and not (behind and unit_of(behind[1]))
        yield Number(*match.span(), ((value,),), True, doubt)


def _spelt(text: str) -> Iterator[re.Match[str]]:
    small = text.lower()
    return SPELT.finditer(small if len(small) == len(text) else text)  # A few capitals are two small letters.


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


def _readings(digits: str) -> list[Reading]:
    """The readings of digits with marks between them."""
    parts, marks = re.split(r"\D", digits), re.findall(r"\D", digits)
    apart = tuple(_canonical(Decimal(part)) for part in parts)
    grouped = len(parts[0]) <= 3 and parts[0] != "0" and all(len(part) == 3 for part in parts[1:])
    if not marks:
        return [apart]
    if len(set(marks)) > 1:
        return _mixed(parts, marks) or [apart]
    found = list[Reading]()
    if len(marks) == 1 and (marks[0] == "." or (marks[0] == "," and not grouped)):
        # A comma before three digits groups them, a point may do either.
        found.append((_canonical(Decimal(".".join(parts))),))
    if grouped:
        found.append((_canonical(Decimal("".join(parts))),))
    if marks[0] == " " or not found:
        found.append(apart)
    return found


def _mixed(parts: list[str], marks: list[str]) -> list[Reading]:
    """1,234.5 and 1.234,5: the last mark begins the fraction."""
    grouped = len(set(marks[:-1])) == 1 and marks[-1] in ".," and all(len(part) == 3 for part in parts[1:-1])
    return [(_canonical(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}")),)] if grouped and len(parts[0]) <= 3 else []


def _canonical(value: Decimal) -> str:
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
