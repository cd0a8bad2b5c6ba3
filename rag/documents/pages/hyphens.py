"""Words that a line end divides."""

import re
from collections.abc import Iterable
from functools import cached_property

DIVIDED = re.compile(r"[^\W\d_]+-$")
FIRST = re.compile(r"[^\W\d_]+")
ACROSS = re.compile(r"\S+-\n\S+")
WORD = re.compile(r"[\w-]+")
LONGEST = 40
"""Characters of the longest part of a word before a line end."""


class Hyphens:
    """Joins lines of one document: `infor-` and `mation` are one word, `long-` and `term` keep their hyphen.

    The other words of the document decide; letters and digits are the same either way.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines

    def joined(self, before: str, after: str, separator: str) -> str:
        """Two lines as one text, the first with a hyphen at its end; `separator` is between them unless a word is divided."""
        first, second = DIVIDED.search(before, max(0, len(before) - LONGEST)), FIRST.match(after)
        if not first or not second or not second[0][0].islower():
            return before + ("" if before[-2:-1].isalnum() else separator) + after
        start, rest = first[0][:-1].casefold(), second[0].casefold()
        return (before if self._keeps(start, rest) else before[:-1]) + after

    @cached_property
    def _words(self) -> frozenset[str]:
        """The words of the document, in lower case, without those that a line end divides."""
        return frozenset(WORD.findall(ACROSS.sub(" ", "\n".join(self._lines)).casefold()))

    def _keeps(self, start: str, rest: str) -> bool:
        """True if the document has the compound, or both parts as words of their own but not the whole."""
        if f"{start}{rest}" in self._words:
            return False
        return f"{start}-{rest}" in self._words or {start, rest} <= self._words
