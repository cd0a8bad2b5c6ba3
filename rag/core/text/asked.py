"""The numbers that a question asks for and has: whether a sentence has one that is not known, and covers the known ones."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

from rag.core.text.facts import Fact, clean, facts

LOW = re.compile(
    r"(?:(?<!no )more than|over|above|exceed\w*|at least|from|minimum(?: of)?|beyond|[>≥])\s?[£$€]?\s?\Z", re.IGNORECASE
)
HIGH = re.compile(
    r"(?:up to|under|below|less than|at most|no more than|within|maximum(?: of)?|[<≤])\s?[£$€]?\s?\Z", re.IGNORECASE
)
"""Words in front of a number that is the lower or the upper end of a range."""
FROM = re.compile(r"\s?(?:(?:or|and) (?:more|over|above|longer)\b|\+)", re.IGNORECASE)
UNTIL = re.compile(r"\s?(?:or|and) (?:less|fewer|under|below)\b", re.IGNORECASE)
"""Words behind such a number."""
TO = re.compile(r"\W{0,3}(?:to|and|-|–)\W{0,3}", re.IGNORECASE)


class Asked:
    """`asks` finds the words of a question that ask for a number or a time, `holds` a number or a time in an answer."""

    def __init__(self, question: str, asks: re.Pattern[str], holds: re.Pattern[str]) -> None:
        self._asks, self._holds = asks.search(question) is not None, holds
        self._known = set(holds.findall(question.lower()))
        self._amounts = [(fact.dimension, _size(fact)) for fact in facts(clean(question)) if fact.sizes]

    def held(self, text: str) -> bool:
        """False if the question asks for a number, and a text has none but those of the question."""
        return not self._asks or any(found not in self._known for found in self._holds.findall(text.lower()))

    def fit(self, text: str) -> int:
        """1 if an amount of the question is in a range of a text with its unit, -1 if it is in none of them, 0 without one."""
        if not self._amounts:
            return 0
        known = list(_ranges(clean(text)))
        fits = [low <= size <= high for unit, size in self._amounts for other, low, high in known if unit == other]
        return (1 if any(fits) else -1) if fits else 0


def _ranges(text: str) -> Iterator[tuple[str, Decimal, Decimal]]:
    """The dimension and both ends of every range of amounts."""
    for fact, after in pairwise([*(fact for fact in facts(text) if fact.sizes), None]):
        if not fact:
            continue
        before, size = text[max(0, fact.start - 20) : fact.start], _size(fact)
        if after and after.dimension == fact.dimension and TO.fullmatch(text, fact.end, after.start):
            yield fact.dimension, size, _size(after)
        elif HIGH.search(before) or UNTIL.match(text, fact.end):
            yield fact.dimension, Decimal("-Infinity"), size
        elif LOW.search(before) or FROM.match(text, fact.end):
            yield fact.dimension, size, Decimal("Infinity")


def _size(fact: Fact) -> Decimal:
    return min(map(Decimal, fact.sizes))
