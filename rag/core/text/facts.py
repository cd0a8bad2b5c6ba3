"""The facts of a text that rules compare: numbers with their units, names and codes, and the stems of its other words."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from rag.core.text.citations import without_markers
from rag.core.text.numerals import LONGEST, Number, numbers
from rag.core.text.stems import Stems

READ = 20_000
"""Characters of a text that are read, so that time and memory stay bounded."""
MARKS = re.compile(r"[*_`#>|]+|[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks of Markdown and of the direction of writing."""
CODE = re.compile(r"\b[^\W\d_]+[-/.]?\d[\w/-]*|(?<![£$€\d.,])\b\d+[A-Z]\b")
"""`OV-4010`, `F-36`, `K2`, `2L`: a name, not a number."""
WORD = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+(?:['’][^\\W_]+)*")
UNIT = re.compile(r"\s?(%|°\s?[CF]\b|°|[^\W\d_]+)")
CURRENCY = {"£": "pound", "$": "dollar", "€": "euro", "gbp": "pound", "usd": "dollar", "eur": "euro"}
RANGE = re.compile(r"\s?(?:[-–—]|to|and|or)\s?\d[\d.,]*")
"""The other end of a range, which has the unit of both."""
ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
PLAIN = re.compile(rf"\d[\d.]{{0,{LONGEST}}}")
INITIALS = re.compile(r"\b(?:[A-Z]\.){2,}")
UNITS = (
    "length|mm millimetre millimeter|.001;cm centimetre centimeter|.01;m metre meter|1;km kilometre kilometer|1000;"
    "mass|g gram gramme|1;kg kilo kilogram kilogramme|1000;t tonne|1000000;"
    "time|s sec second|1;min minute|60;h hr hour|3600;day|86400;week wk|604800;"
    "age|month|1;year yr|12;"
    "volume|ml millilitre milliliter|.001;l litre liter|1;"
    "money|p penny pence|.01;pound gbp £|1;"
    "dollar|dollar usd $|1;euro|euro eur €|1;"
    "share|% percent|1;celsius|°c celsius|1;fahrenheit|°f fahrenheit|1"
)
"""Dimension, then the names of each unit and its size, for units that are compared."""
PART = re.compile(r"month \d+|[^ ]+")
DATE_GAP = re.compile(r",? (?:of )?|\. ")
"""The text between the parts of a date."""
SHAPES = {
    "date": re.compile(r".* month .*|month \d+ .*"),
    "year": re.compile(r"1[0-9]{3}|2[01][0-9]{2}"),
    "month": re.compile(r"month \d+"),
}
SMALL = frozenset("012")
"""Spelt numbers that are often no numbers: `one of them`."""


def _units() -> Iterator[tuple[str, tuple[str, Decimal]]]:
    dimension = ""
    for part in UNITS.split(";"):
        *new, names, size = part.split("|")
        dimension = new[0] if new else dimension
        for name in names.split():
            yield name, (dimension, Decimal(size))


SIZES: Mapping[str, tuple[str, Decimal]] = dict(_units())


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
    plain = unicodedata.normalize("NFKC", without_markers(text[:READ]).replace("’", "'"))
    plain = INITIALS.sub(lambda mark: mark[0].replace(".", ""), plain)
    return MARKS.sub(lambda mark: " " * len(mark[0]), plain)


@lru_cache(maxsize=256)
def facts(text: str, language: str = "english") -> tuple[Fact, ...]:
    """The facts of a cleaned text in reading order, words without meaning left out."""
    codes = [Fact("name", frozenset({match[0].lower()}), *match.span()) for match in CODE.finditer(text)]
    rest = _blanked(text, codes)
    values = list(_dated(rest, sorted((_number(rest, number) for number in numbers(rest)), key=lambda fact: fact.start)))
    words = list(_words(_blanked(rest, values), language))
    return tuple(sorted((*codes, *values, *words), key=lambda fact: fact.start))


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


def _blanked(text: str, found: list[Fact]) -> str:
    characters = list(text)
    for fact in found:
        characters[fact.start : fact.end] = " " * (fact.end - fact.start)
    return "".join(characters)


def _words(text: str, language: str) -> Iterator[Fact]:
    stems = Stems(language)
    for match in WORD.finditer(text):
        word = match[0].removesuffix("'s")
        if stems.terms(word):
            (stem,) = stems.stems([word])
            yield Fact("name" if word[0].isupper() else "word", frozenset({stem}), *match.span())


def _number(text: str, number: Number) -> Fact:
    """A number with its unit, which is before it, if that is money, or behind it."""
    end = number.end
    if ordinal := ORDINAL.match(text, end):
        end = ordinal.end()
    further = RANGE.match(text, end)
    money, behind = CURRENCY.get(text[: number.start].rstrip()[-1:]), UNIT.match(text, further.end() if further else end)
    percent = any(value.endswith("%") for reading in number.readings for value in reading)
    name = "%" if percent else money or (_unit(behind[1]) if behind else "")
    end = behind.end() if behind and name and not (money or percent or further) else end
    dimension, size = SIZES.get(name, ("", Decimal(1)))
    values = {" ".join(reading).replace("%", "") for reading in number.readings}
    scaled = {_scaled(value, size) for value in values if dimension and PLAIN.fullmatch(value)}
    weak = number.spelt and not values.isdisjoint(SMALL) and not dimension
    return Fact("number", frozenset(values), number.start, end, dimension, frozenset(scaled), weak)


def _scaled(value: str, size: Decimal) -> str:
    return f"{(Decimal(value) * size).normalize():f}"


def _unit(word: str) -> str:
    name = word.lower().replace(" ", "")
    return name if name in SIZES else name.removesuffix("s") if name.removesuffix("s") in SIZES else ""
