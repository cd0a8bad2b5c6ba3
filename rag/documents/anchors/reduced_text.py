"""Texts reduced to letters and digits, so that quotes can be compared between readers of one file."""

import re
import unicodedata
from array import array
from dataclasses import dataclass
from functools import lru_cache

EDGE = "\x1f"
"""The mark at both ends of a run of digits, so that no run matches a part of another one."""
HOLE = "\0"
"""The mark of a placeholder."""
TOKEN = re.compile(rf"(?P<number>\d+(?:[.,]\d+)*)|(?P<word>[^\W\d_]+)|{HOLE}+")
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Reduced:
    """Letters without case and accents, runs of digits between EDGEs, and one HOLE for each run of HOLEs.

    `places[i]` is the offset of `text[i]` in the source. `borders[i]` is 0 inside a number with its points and commas, which is
    compared as a whole, else 1; there is one more border than characters.
    """

    text: str
    places: "array[int]"
    borders: bytes

    def offsets(self, start: int, end: int) -> tuple[int, int]:
        """The characters [start, end) of the source that a stretch covers."""
        return self.places[start], self.places[end - 1] + 1

    def numbers(self) -> list[tuple[int, int]]:
        """The numbers as stretches [start, end), each with all its runs of digits."""
        found = []
        end = 0
        while (start := self.text.find(EDGE, end)) >= 0:
            end = self.borders.find(1, start + 1)
            found.append((start, end))
        return found


@lru_cache(maxsize=128)
def reduced(text: str) -> Reduced:
    """Reduce a text; the time grows with its length."""
    shown: list[str] = []
    places, borders = array("i"), bytearray()
    for token in TOKEN.finditer(text):
        start, end = token.span()
        word, before = token[0], len(places)
        if token.lastgroup == "number":
            for run in DIGITS.finditer(word):
                first, last = start + run.start(), start + run.end()
                shown.append(f"{EDGE}{plain(run[0])}{EDGE}")
                places.extend((first, *range(first, last), last - 1))
            borders += b"\1" + bytes(len(places) - before - 1)
            continue
        if word.isascii():
            shown.append(word.lower() if token.lastgroup else HOLE)
            places.extend(range(start, end) if token.lastgroup else (start,))
        else:
            for at, letter in enumerate(word, start):
                letters = plain(letter)
                shown.append(letters)
                places.extend([at] * len(letters))
        borders += b"\1" * (len(places) - before)
    return Reduced("".join(shown), places, bytes(borders + b"\1"))


def plain(text: str) -> str:
    """The letters and digits of a text: ligatures apart, without case and accents."""
    if text.isascii():
        return text
    return "".join(part for part in unicodedata.normalize("NFKD", text).casefold() if part.isalnum())
