"""What a text states: its facts, by clause, and whether it has the facts of another text."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from rag.core.text.facts import Fact, clean, facts, parts

BREAK = re.compile(r"[.!?;](?=\s)|\n+|[()]|\b(?:or|but|whereas|while|although)\b", re.IGNORECASE)
"""The end of a clause."""


@dataclass(frozen=True)
class Stated:
    """A cleaned text and its facts."""

    text: str
    facts: tuple[Fact, ...]

    @classmethod
    def of(cls, text: str, language: str) -> "Stated":
        """The facts of a text as it was written."""
        plain = clean(text)
        return cls(plain, facts(plain, language))

    @cached_property
    def keys(self) -> frozenset[str]:
        """The stems and codes."""
        return frozenset[str]().union(*(fact.keys for fact in self.facts if fact.kind != "number"))

    @cached_property
    def _numbers(self) -> tuple[set[tuple[str, str]], list[frozenset[str]], set[str], set[str]]:
        """Sizes with their dimension; dates; the parts of numbers without a dimension, and of all numbers."""
        rows = [fact for fact in self.facts if fact.kind == "number"]
        read = [(fact, parts(key)) for fact in rows for key in fact.keys]
        bare = {part for fact, own in read if not fact.dimension for part in own}
        sizes = {(fact.dimension, size) for fact in rows for size in fact.sizes}
        return sizes, [own for _, own in read if len(own) > 1], bare, {part for _, own in read for part in own}

    def has(self, fact: Fact) -> bool:
        """True for a stem of this text, and for a number of equal value, with its unit unless one of both has none.

        A date has its day, month and year.
        """
        if fact.kind != "number":
            return not self.keys.isdisjoint(fact.keys)
        sizes, dates, bare, every = self._numbers
        if any((fact.dimension, size) in sizes for size in fact.sizes):
            return True
        known = bare if fact.dimension else every
        wanted = [parts(key) for key in fact.keys]
        return any(own <= known if len(own) == 1 else any(own <= date for date in dates) for own in wanted)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(mark.end() for mark in BREAK.finditer(self.text))]

    def clause_of(self, fact: Fact) -> int:
        """The place in the text where the clause of a fact begins."""
        return self._starts[bisect_right(self._starts, fact.start) - 1]

    @cached_property
    def clauses(self) -> dict[int, list[Fact]]:
        """The facts of each clause, by the place where it begins."""
        found: dict[int, list[Fact]] = {}
        for fact in self.facts:
            found.setdefault(self.clause_of(fact), []).append(fact)
        return found

    def shared(self, wanted: Iterable[Fact]) -> list[Fact]:
        """The facts of this text that are among the wanted ones, or dates that have one of them."""
        others = Stated("", tuple(wanted))
        dates = [fact for fact in others.facts if fact.kind == "number"]
        return [
            fact
            for fact in self.facts
            if others.has(fact) or (fact.kind == "number" and any(map(Stated("", (fact,)).has, dates)))
        ]
