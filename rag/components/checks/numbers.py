"""Whether the numbers of a reply are in its contexts."""

from dataclasses import dataclass
from typing import ClassVar

from rag.components.checks.failure_action import ReplyCheck, texts_of
from rag.core.text.citations import unmarked
from rag.core.text.values.numbers import Number, numbers, values
from rag.core.types import Finding, Request


@dataclass(frozen=True)
class NumbersCheck(ReplyCheck):
    """Fails for a number of a reply that no context contains.

    1,000, 1000 and "one thousand" are equal, and so are 5 %, 5% and "five per cent"; a percentage needs a percentage. 5 pm is
    17:00 and 1 June is 1.6.: the month of a date is a number too. With `question`, numbers of the question and of earlier turns
    may be repeated. Number words of contexts are always read; those of a reply are checked with `words` only, from two on,
    because "two of them" may be counted by the model.
    """

    name: ClassVar[str] = "numbers"
    languages: ClassVar[tuple[str, ...]] = ("english",)
    question: bool = True
    words: bool = False

    def failures(self, request: Request, reply: str) -> list[Finding]:
        """One finding per number that no context contains."""
        own = [request.query.text, *(turn.text for turn in request.query.history)] if self.question else []
        known = frozenset[str]().union(*(values(text) for text in [*texts_of(request.contexts), *own]))
        checked = [number for number in numbers(unmarked(reply)) if not number.spelt or self._counts(number)]
        return [
            self.finding(f"no context holds {' '.join(reply[one.start : one.end].split())}", one.start, one.end)
            for one in checked
            if not one.among(known)
        ]

    def _counts(self, number: Number) -> bool:
        return self.words and not {("0",), ("1",)}.intersection(number.readings)
