"""What a question asks for, a number, a time or a name, and whether a sentence has it and covers the numbers of the question."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from rag.core.text.facts import Fact, clean, facts

DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
NAME = re.compile(r"(?<=[\w,;:(] )\W?([A-Z][^\W\d_]+)")
"""A word with a capital that does not begin a sentence."""
LOW = re.compile(r"(?:(?<!no )more than|over|above|exceed\w*|at least|from|minimum(?: of)?|beyond|>|≥)\s?[£$€]?\s?\Z", re.IGNORECASE)
HIGH = re.compile(r"(?:up to|under|below|less than|at most|no more than|within|maximum(?: of)?|<|≤)\s?[£$€]?\s?\Z", re.IGNORECASE)
"""Words in front of a number that is the lower or the upper end of a range."""
FROM = re.compile(r"\s?(?:(?:or|and) (?:more|over|above|longer)|\+)", re.IGNORECASE)
UNTIL = re.compile(r"\s?(?:or|and) (?:less|fewer|under|below)", re.IGNORECASE)
"""Words behind such a number."""
TO = re.compile(r"\W{0,3}(?:to|and|-|–)\W{0,3}", re.IGNORECASE)
KINDS = ("number", "time", "name")


class Asked:
    """`asks` are the words of a question for each of KINDS, `holds` words of an answer of a kind; digits answer the first two."""

    def __init__(self, question: str, asks: Mapping[str, Sequence[str]], holds: Mapping[str, Sequence[str]]) -> None:
        self.kinds = [kind for kind in KINDS if kind in asks and _pattern(asks[kind]).search(question)]
        self._holds = {kind: _pattern(holds.get(kind, ())) for kind in self.kinds}
        self._known = {*DIGITS.findall(question), *re.findall(r"\w+", question.lower())}
        self._amounts = [fact for fact in facts(clean(question)) if fact.sizes]

    def held(self, text: str) -> bool:
        """False if the question asks for a number, a time or a name, and a text has none but those of the question."""
        return not self.kinds or any(self._has(kind, text) for kind in self.kinds)

    def _has(self, kind: str, text: str) -> bool:
        if kind == "name":
            return any(name.lower() not in self._known for name in NAME.findall(text))
        found = (match[0].lower() for match in self._holds[kind].finditer(text))
        return any(digits not in self._known for digits in DIGITS.findall(text)) or any(self._known.isdisjoint({each}) for each in found)

    def fit(self, text: str) -> int:
        """1 if a number of the question is in a range of a text with its unit, -1 if it is in none of them, 0 without one."""
        if not self._amounts:
            return 0
        plain = clean(text)
        rows = [fact for fact in facts(plain) if fact.sizes]
        ends = [(fact, *_ends(plain, fact, after)) for fact, after in pairwise([*rows, None]) if fact]
        known = [(each.dimension, low, high) for each, low, high in ends if low is not None or high is not None]
        fits = [
            (low is None or low <= _size(asked)) and (high is None or _size(asked) <= high)
            for asked in self._amounts for dimension, low, high in known if dimension == asked.dimension
        ]
        return (1 if any(fits) else -1) if fits else 0


def _ends(text: str, fact: Fact, after: Fact | None) -> tuple[Decimal | None, Decimal | None]:
    """The ends of the range that begins with a number; None for an open end, and twice for a plain number."""
    before, size = text[max(0, fact.start - 20) : fact.start], _size(fact)
    if after and after.dimension == fact.dimension and TO.fullmatch(text, fact.end, after.start):
        return size, _size(after)
    if HIGH.search(before) or UNTIL.match(text, fact.end):
        return None, size
    return (size, None) if LOW.search(before) or FROM.match(text, fact.end) else (None, None)


def _size(fact: Fact) -> Decimal:
    return min(map(Decimal, fact.sizes))


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?!\w)", re.IGNORECASE)
