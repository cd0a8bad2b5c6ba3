"""Whether the numbers of a reply were read."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.checks.failure_action import action_of, texts_of
from rag.components.checks.numerals import numbers, values
from rag.core.errors import ConfigError
from rag.core.records import Finding, Reply, Request
from rag.core.text.citations import unmarked


@dataclass(frozen=True)
class NumbersCheck:
    """Fails where a number of a reply stands in no context.

    1,000 and 1000 and "one thousand" are the same, and so are 5 %, 5% and "five per cent"; a percentage needs a percentage.
    5 pm is 17:00, and 1 June is 1.6.: the month of a date is a number, too, and another one was not read.
    With `question`, numbers of the question and of earlier turns may be repeated. Number words of contexts are always read;
    those of a reply are only held against them with `words`, from two on, for "two of them" may be counted and not read.
    """

    question: bool = True
    words: bool = False
    on_failure: str = "flag"
    advice: str = ""

    def __post_init__(self) -> None:
        action_of("numbers", self.on_failure, self.advice)
        for name in ("question", "words"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"check.numbers.{name}", f"is {getattr(self, name)!r}", "true or false")

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """A finding per number that was not read."""
        return [self._one(request, reply.text) for request, reply in zip(requests, replies, strict=True)]

    def _one(self, request: Request, reply: str) -> list[Finding]:
        own = [request.query.text, *(turn.text for turn in request.query.history)] if self.question else []
        known = frozenset[str]().union(*(values(text) for text in [*texts_of(request.contexts), *own]))
        told = [number for number in numbers(unmarked(reply)) if not number.spelt or self._counts(number.readings)]
        return [
            Finding(
                "numbers",
                f"no context holds {' '.join(reply[number.start : number.end].split())}",
                action_of("numbers", self.on_failure, self.advice),
                start=number.start,
                end=number.end,
                advice=self.advice,
            )
            for number in told
            if not number.among(known)
        ]

    def _counts(self, readings: frozenset[tuple[str, ...]]) -> bool:
        return self.words and readings.isdisjoint({("0",), ("1",)})
