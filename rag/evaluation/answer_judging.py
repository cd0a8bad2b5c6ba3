"""Ask a judge about answers: verdicts on their claims, their relevance, that of their contexts, and their citations."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from rag.core.assessments import REFERENCE, Assessment, Case, Spent, Verdict
from rag.core.roles import AnswerMetric, Judge
from rag.core.text.citations import without_markers
from rag.core.types import Answer, Example
from rag.evaluation.attribution import attributed_sentences, found_relevant, judged, related
from rag.evaluation.correctness.claims import compared


def assess(
    judge: Judge,
    answers: Sequence[Answer | None],
    needs: Collection[str],
    examples: Sequence[Example] = (),
    language: str = "english",
) -> list[Assessment]:
    """One assessment per answer, with the parts in `needs` (`rag.core.assessments.PARTS`).

    A failed answer (None) gets no verdict and relevance 0. An answer that abstains gets a verdict without claims, and
    neither relevance nor citations.
    """
    assessments = [Assessment(judge.threshold, relevance=0.0 if answer is None else math.nan) for answer in answers]
    given = [(row, answer) for row, answer in enumerate(answers) if answer is not None]
    for part, judge_part in JUDGED_PARTS.items():
        if part in needs:
            values = judge_part(judge, [answer for _, answer in given])
            for (row, _), (value, spent) in zip(given, values, strict=True):
                assessments[row] = _with(assessments[row], part, value, spent)
    if REFERENCE in needs:
        values = compared(judge, examples, answers, language)
        assessments = [_with(each, REFERENCE, *value) for each, value in zip(assessments, values, strict=True)]
    return assessments


def _with(before: Assessment, part: str, value: Any, spent: Spent) -> Assessment:
    changed: dict[str, Any] = {part: value, "tokens": before.tokens + spent.tokens, "cost": before.cost + spent.cost}
    return replace(before, **changed)


@dataclass(frozen=True)
class Counted:
    """How many judgements were asked for, and how many of them failed."""

    asked: int = 0
    failed: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        """The sums of both counts."""
        return Counted(self.asked + other.asked, self.failed + other.failed)


def counted(assessments: Sequence[Assessment], answers: Sequence[Answer | None], needs: Collection[str]) -> Counted:
    """Count the judgements of claims, relevance, contexts, cited sentences and references; failed answers (None) have none."""
    values = [
        value
        for assessment, answer in zip(assessments, answers, strict=True)
        if answer
        for value in _judgements(assessment, answer, needs)
    ]
    return Counted(len(values), sum(map(math.isnan, values)))


@runtime_checkable
class AskingMetric(AnswerMetric, Protocol):
    """An answer metric with a model of its own; NaN where `applies` is true means that the model failed."""

    def applies(self, example: Example, answer: Answer) -> bool:
        """True if the model is asked about this answer."""


def asked_of(
    metric: AskingMetric, values: Sequence[float], examples: Sequence[Example], answers: Sequence[Answer | None]
) -> Counted:
    """Count the answers that a metric asked its model about, and those for which the model gave no value."""
    rows = zip(values, examples, answers, strict=True)
    own = [value for value, example, answer in rows if answer and metric.applies(example, answer)]
    return Counted(len(own), sum(map(math.isnan, own)))


def _judgements(assessment: Assessment, answer: Answer, needs: Collection[str]) -> list[float]:
    supports = [claim.support for claim in assessment.verdict.claims] if assessment.verdict else []
    cited = [sentence.support for sentence in assessment.citations if sentence.contexts]
    relevance = [assessment.relevance] if "relevance" in needs and not answer.abstained else []
    reference = assessment.reference
    right = [reference.value] if reference and reference.rule == "claims" else []
    return [*supports, *cited, *relevance, *assessment.contexts, *right]


def _verdicts(judge: Judge, answers: Sequence[Answer]) -> list[tuple[Verdict, Spent]]:
    cases = [
        Case(answer.reply.text, tuple(hit.chunk.text for hit in answer.contexts), answer.query.text)
        for answer in answers
        if not answer.abstained
    ]
    verdicts = iter(judged(judge, cases))
    return [(Verdict(abstained=True), Spent()) if answer.abstained else next(verdicts) for answer in answers]


def _relevance(judge: Judge, answers: Sequence[Answer]) -> list[tuple[float, Spent]]:
    pairs = [(_question(answer), without_markers(answer.reply.text)) for answer in answers if not answer.abstained]
    values = iter(related(judge, pairs))
    return [(math.nan, Spent()) if answer.abstained else next(values) for answer in answers]


def _contexts(judge: Judge, answers: Sequence[Answer]) -> list[tuple[tuple[float, ...], Spent]]:
    values = iter(found_relevant(judge, [(_question(answer), hit.chunk.text) for answer in answers for hit in answer.contexts]))
    rows = [[next(values) for _ in answer.contexts] for answer in answers]
    return [(tuple(value for value, _ in row), sum((spent for _, spent in row), Spent())) for row in rows]


def _question(answer: Answer) -> str:
    """The question as it was searched for, understandable without the conversation; the typed one if it was not rewritten."""
    return answer.sought.question if answer.sought else answer.query.text


JUDGED_PARTS: Mapping[str, Callable[[Judge, Sequence[Answer]], Sequence[tuple[Any, Spent]]]] = {
    "verdict": _verdicts,
    "relevance": _relevance,
    "contexts": _contexts,
    "citations": attributed_sentences,
}
"""The fields of an Assessment, each with the function that judges it: a value and its cost per answer."""
