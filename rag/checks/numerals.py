"""Numbers in a text, in digits or English words, by what they may mean: 1,000, 1 000 and "one thousand" are the same.

A number has one or more *readings*, each a tuple of values that it stands for: `1.000` is a thousand or one, `1.6.2025` is a
one, a six and a year.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

NAMES = (
    "zero zeroth",
    "one first",
    "two second",
    "three third",
    "four fourth",
    "five fifth",
    "six sixth",
    "seven seventh",
    "eight eighth",
    "nine ninth",
    "ten tenth",
    "eleven eleventh",
    "twelve twelfth dozen",
    "thirteen thirteenth",
    "fourteen fourteenth",
    "fifteen fifteenth",
    "sixteen sixteenth",
    "seventeen seventeenth",
    "eighteen eighteenth",
    "nineteen nineteenth",
)
"""What each number below twenty is called."""
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "trillion": 1_000_000_000_000}
WORTH = (
    {word: value for value, words in enumerate(NAMES) for word in words.split()}
    | {word: 10 * value for value, word in enumerate(TENS, 2)}
    | {f"{word[:-1]}ieth": 10 * value for value, word in enumerate(TENS, 2)}
)
ALL = "|".join(sorted((*WORTH, *SCALES), key=len, reverse=True))

GAP = "\u00a0\u2009\u202f"
UNIT = r"(?:\s?(?P<percent>%|per\s?cent\b|percent\b)|\s?(?P<scale>thousand|million|billion|trillion|k|bn)\b)?"
DIGITS = re.compile(rf"(?P<digits>\d{{1,3}}(?: \d{{3}})+(?![\d.,])|\d+(?:[.,'’{GAP}]\d+)*){UNIT}", re.IGNORECASE)
SPELT = re.compile(
    rf"\b(?P<words>(?:{ALL})(?:(?:\s+and\s+|[\s-]+)(?:{ALL}))*)\b(?P<percent>\s?(?:%|per\s?cent\b))?", re.IGNORECASE
)
ENUMERATED = re.compile(r"^[ \t]*\d{1,3}[.)](?=[ \t])", re.MULTILINE)
"""The number of a list item, which says nothing."""


@dataclass(frozen=True, slots=True)
class Number:
    """The characters [start, end) of a text, and what they may stand for; `spelt` in words."""

    start: int
    end: int
    readings: frozenset[tuple[str, ...]]
    spelt: bool = False

    def among(self, known: frozenset[str]) -> bool:
        """Whether all values of one of its readings are known."""
        return any(all(value in known for value in reading) for reading in self.readings)


def numbers(text: str) -> list[Number]:
    """All numbers of a text but those of list items, those in digits first."""
    text = ENUMERATED.sub(_blank, text)
    # In 1.2 million the word belongs to the digits.
    return [*_in_digits(text), *_in_words(DIGITS.sub(_blank, text))]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def values(text: str) -> frozenset[str]:
    """Every value that a number of a text may stand for, a percentage with and without its sign, a phrase with its words."""
    found = {value for number in numbers(text) for reading in number.readings for value in reading}
    singly = {str(WORTH[word]) for match in SPELT.finditer(text) for word in _words(match["words"]) if word in WORTH}
    unscaled = {value for match in DIGITS.finditer(text) for reading in _readings(match["digits"]) for value in reading}
    return frozenset(found | singly | unscaled | {value.rstrip("%") for value in found})


def _in_digits(text: str) -> Iterator[Number]:
    for match in DIGITS.finditer(text):
        readings, sign = _readings(match["digits"]), "%" if match["percent"] else ""
        if match["scale"]:
            scale = {"k": 1_000, "bn": 1_000_000_000}.get(match["scale"].lower()) or SCALES[match["scale"].lower()]
            readings = {(*reading[:-1], _canonical(Decimal(reading[-1]) * scale)) for reading in readings}
        yield Number(*match.span(), frozenset(tuple(value + sign for value in reading) for reading in readings))


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
    """What digits with marks between them may stand for."""
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
