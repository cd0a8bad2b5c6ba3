"""The facts of a text that rules compare: numbers with their units, names and codes, and the stems of its other words."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from rag.core.text.citations import without_markers
from rag.core.text.values.numbers import ENUMERATED, FRACTIONS, LONGEST, Number, blank, blanked, numbers
from rag.core.text.values.units import SIGNS, SIZES, unit_of
from rag.core.text.values.words import others

READ = 20_000
"""Characters of a text that are read, so that time and memory stay bounded."""
MARKS = re.compile(r"[*_`#>|]+|[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks of Markdown and of the direction of writing."""
CODE = re.compile(r"\b[^\W\d_]+[-/.]?\d[\w/-]*(?:\.\d+)*|(?<![£$€\d.,])\b\d+[A-Z]\b")
"""`OV-4010`, `F-36`, `K2`, `2L`: a name, not a number."""
UNIT = re.compile(r"\s?(%|°\s?[CF]\b|°|[^\W\d_]+)")
RANGE = re.compile(r"\s?(?:[-–—]|to|and|or)\s?\d[\d.,]*")
"""The other end of a range, which has the unit of both."""
PLAIN = re.compile(rf"\d[\d.]{{0,{LONGEST}}}")
FRACTION = re.compile(f"([{FRACTIONS}])")
"""½, which would become 1⁄2 in composed form."""
INITIALS = re.compile(r"\b(?:[A-Z]\.){2,}")
PART = re.compile(r"month \d+|[^ ]+")
DATE_GAP = re.compile(r",? (?:of )?|\. ")
"""The text between the parts of a date."""
SHAPES = {
    "date": re.compile(r".* month .*|month \d+ .*"),
    "year": re.compile(r"1[0-9]{3}|2[01][0-9]{2}"),
    "month": re.compile(r"month \d+"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """The characters [start, end) of a cleaned text; `kind` is number, name or word.

    `keys` are the readings of a number as a person wrote it, or the stem of a word. `sizes` are its values in base units; they
    and the `dimension` are empty without a known unit.
    """

    kind: str
    keys: frozenset[str]
    start: int
    end: int
    dimension: str = ""
    sizes: frozenset[str] = frozenset()
    weak: bool = False

    @property
    def sort(self) -> tuple[str, str]:
        """What values it may be exchanged for: a year for a year, an amount of a unit for one of the same unit."""
        shape = next((name for name, form in SHAPES.items() if all(map(form.fullmatch, self.keys))), "")
        return self.kind, self.dimension or (shape if self.kind == "number" else "")


def clean(text: str) -> str:
    """The first READ characters in composed form, without citation markers and the marks of Markdown."""
    parts = FRACTION.split(without_markers(text[:READ]).replace("’", "'"))
    plain = "".join(part if part in FRACTIONS else unicodedata.normalize("NFKC", part) for part in parts)
    plain = INITIALS.sub(lambda mark: mark[0].replace(".", ""), plain)
    return MARKS.sub(lambda mark: " " * len(mark[0]), plain)


@lru_cache(maxsize=256)
def facts(text: str, language: str = "english") -> tuple[Fact, ...]:
    """The facts of a cleaned text in reading order, words without meaning left out."""
    codes = [Fact("name", frozenset({match[0].lower()}), *match.span()) for match in CODE.finditer(text)]
    rest = blanked(ENUMERATED.sub(blank, text), codes)
    counted = list(_dated(rest, [_number(rest, number) for number in numbers(rest)]))
    stems = (word for word in others(text, blanked(rest, counted), language) if word.meaning)
    plain = [Fact("name" if word.kind == "name" else "word", frozenset({word.stem}), word.start, word.end) for word in stems]
    return tuple(sorted((*codes, *counted, *plain), key=lambda fact: fact.start))


def parts(key: str) -> frozenset[str]:
    """The parts of a reading: day, month and year, or the number itself."""
    return frozenset(PART.findall(key))


def _dated(text: str, values: list[Fact]) -> Iterator[Fact]:
    """The numbers in their order; a month with the day before or behind it and the year is one fact."""
    while values:
        count = 1
        while count < min(3, len(values)) and DATE_GAP.fullmatch(text, values[count - 1].end, values[count].start):
            count += 1
        run, values = values[:count], values[count:]
        plain = not any(fact.dimension or len(fact.keys) > 1 for fact in run)
        if plain and sum(fact.sort[1] == "month" for fact in run) == 1:
            yield Fact("number", frozenset({" ".join(key for fact in run for key in fact.keys)}), run[0].start, run[-1].end)
        else:
            yield run[0]
            values = run[1:] + values


def _number(text: str, number: Number) -> Fact:
    """A number with its unit, which is before it, if that is money, or behind it."""
    end = number.end
    further = RANGE.match(text, end)
    money, behind = SIGNS.get(text[: number.start].rstrip()[-1:]), UNIT.match(text, further.end() if further else end)
    percent = any(value.endswith("%") for reading in number.readings for value in reading)
    name = "%" if percent else money or (unit_of(behind[1]) if behind else "")
    end = behind.end() if behind and name and not (money or percent or further) else end
    dimension, size = SIZES.get(name, ("", Decimal(1)))
    values = {" ".join(reading).replace("%", "") for reading in number.readings}
    plain = [value for value in values if dimension and PLAIN.fullmatch(value)]
    scaled = {f"{(Decimal(value) * size).normalize():f}" for value in plain}
    return Fact("number", frozenset(values), number.start, end, dimension, frozenset(scaled), number.doubt)
