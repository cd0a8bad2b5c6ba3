"""Which contexts of an answer hold gold, and which sentences cite them.

A passage holds a span of gold that shares at least `coverage` of the shorter of the two with it, as where rankings are judged;
one of a document that is gold as a whole holds it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.core.errors import ConfigError
from rag.core.records import Answer, Evidence, Example, Span
from rag.core.text.citations import CitedSentence, cited_sentences
from rag.core.text.refusals import claims


def check_coverage(metric: str, coverage: float) -> None:
    """ConfigError for what is no share of a span."""
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage <= 1:
        raise ConfigError(f"metric.{metric}.coverage", f"is {coverage!r}", "a number above 0, at most 1")


def answerable(example: Example) -> bool:
    """Whether the corpus is known to hold what a question needs: it has gold of a grade above 0."""
    return example.has_gold


@dataclass(frozen=True)
class Grounds:
    """An answer beside the gold of its question."""

    example: Example
    answer: Answer
    coverage: float

    @cached_property
    def spans(self) -> list[Span]:
        """What every context is, by number from 0."""
        return [hit.chunk.span for hit in self.answer.contexts]

    @property
    def groups(self) -> list[Evidence]:
        """The gold that counts."""
        return [group for group in self.example.evidence if group.grade > 0]

    @cached_property
    def sentences(self) -> list[CitedSentence]:
        """The sentences of the reply that claim something."""
        claimed = set(claims(self.answer.reply.text)[0])
        return [one for one in cited_sentences(self.answer.reply.text) if (one.start, one.end) in claimed]

    def cites(self, sentence: CitedSentence) -> tuple[int, ...]:
        """The numbers of contexts that a sentence cites."""
        return sentence.cites(len(self.answer.contexts))

    @cached_property
    def good(self) -> frozenset[int]:
        """The numbers, from 1, of contexts that hold some gold."""
        return frozenset(
            number for number in range(1, len(self.spans) + 1) if any(self.holds([number], g) for g in self.groups)
        )

    def holds(self, numbers: Sequence[int], group: Evidence) -> bool:
        """Whether one of the contexts of these numbers holds an alternative of a group."""
        spans = [self.spans[number - 1] for number in numbers]
        return any(_holds(span, gold, self.coverage) for span in spans for gold in group.alternatives)


def _holds(passage: Span, gold: Span | str, coverage: float) -> bool:
    if isinstance(gold, str):
        return passage.doc_id == gold
    shared = min(passage.end, gold.end) - max(passage.start, gold.start)
    shorter = min(passage.end - passage.start, gold.end - gold.start)
    # As in rag.evaluation.gold_table: 0.55 of 100 characters are 55, whatever binary says.
    return passage.doc_id == gold.doc_id and shared >= max(1, math.ceil(round(coverage * shorter, 6)))
