"""The units of numbers, with their sizes."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

SIGNS = {"£": "pound", "$": "dollar", "€": "euro"}
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


def _units() -> Iterator[tuple[str, tuple[str, Decimal]]]:
    dimension = ""
    for part in UNITS.split(";"):
        *new, names, size = part.split("|")
        dimension = new[0] if new else dimension
        for name in names.split():
            yield name, (dimension, Decimal(size))


SIZES: Mapping[str, tuple[str, Decimal]] = dict(_units())


def unit_of(word: str) -> str:
    """The name of the unit that a word is, in small letters and the singular; empty for another word."""
    name = word.lower().replace(" ", "")
    return name if name in SIZES else name.removesuffix("s") if name.removesuffix("s") in SIZES else ""
