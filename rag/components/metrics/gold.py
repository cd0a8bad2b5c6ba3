"""The base of citation metrics: which contexts of an answer contain gold, and which sentences cite them.

As in the scoring of rankings, a passage contains a gold span if it has at least the share `coverage` of the shorter of the two.
A passage of a document that is gold as a whole contains it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.core.errors import ConfigError
from rag.core.text.refusals import claiming_sentences
from rag.core.types import Answer, Evidence, Example, Place, Span, spans_of


@dataclass(frozen=True)
class CitationMetric(ABC):
    """A metric of the citations of an answer to a question with gold."""

    coverage: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.coverage, bool) or not isinstance(self.coverage, int | float) or not 0 < self.coverage <= 1:
            name = type(self).__module__.rpartition(".")[2]
            raise ConfigError(f"metric.{name}.coverage", f"is {self.coverage!r}", "a number above 0, at most 1")

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN for a question without gold and for an abstention, which cites nothing."""
        if answer.abstained or not example.has_gold:
            return math.nan
        return self.share(Grounds(example, answer, self.coverage))

    @abstractmethod
    def share(self, grounds: "Grounds") -> float:
        """The value of an answer that is no abstention."""


@dataclass(frozen=True)
class Grounds:
    """An answer and the gold of its question; contexts are numbered from 1."""

    example: Example
    answer: Answer
    coverage: float

    @property
    def groups(self) -> list[Evidence]:
        """The gold groups of a grade above 0."""
        return [group for group in self.example.evidence if group.grade > 0]

    @cached_property
    def cited(self) -> list[tuple[int, ...]]:
        """The numbers of the contexts that each claiming sentence of the reply cites."""
        return [one.cites(len(self.answer.contexts)) for one in claiming_sentences(self.answer.reply.text)]

    @cached_property
    def good(self) -> frozenset[int]:
        """The numbers of the contexts that contain any gold."""
        numbers = range(1, len(self.answer.contexts) + 1)
        return frozenset(number for number in numbers if any(self.holds([number], group) for group in self.groups))

    def holds(self, numbers: Sequence[int], group: Evidence) -> bool:
        """True if one of the contexts with these numbers contains an alternative of a group."""
        spans = [self.answer.contexts[number - 1].chunk.span for number in numbers]
        return any(_holds(span, gold, self.coverage) for span in spans for gold in group.alternatives)


def _holds(passage: Span, gold: Place, coverage: float) -> bool:
    if isinstance(gold, str):
        return passage.doc_id == gold
    spans = spans_of(gold) if passage.doc_id == gold.doc_id else ()
    shared = sum(max(min(passage.end, span.end) - max(passage.start, span.start), 0) for span in spans)
    shorter = min(passage.end - passage.start, sum(span.end - span.start for span in spans))
    # Rounded as in rag.evaluation.gold_table: 0.55 of 100 characters are 55 in spite of binary fractions.
    return shared >= max(1, math.ceil(round(coverage * shorter, 6)))
