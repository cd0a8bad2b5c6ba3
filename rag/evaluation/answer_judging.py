"""What a judge is asked about answers: their claims, their relevance, that of their contexts, their citations."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from rag.core.assessments import Assessment, Case, Spent, Verdict
from rag.core.records import Answer, Example
from rag.core.roles import Judge
from rag.core.text.citations import without_markers
from rag.evaluation.attribution import found_relevant, held, judged, related


def assess(judge: Judge, answers: Sequence[Answer | None], needs: Collection[str]) -> list[Assessment]:
    """One assessment per answer, of the parts in `needs` (`rag.core.assessments.PARTS`).

    An answer that failed has no verdict and the relevance 0. One that abstains has a verdict without claims, and neither
    relevance nor citations: it says nothing that could be either.
    """
    found = [Assessment(judge.threshold, relevance=0.0 if answer is None else math.nan) for answer in answers]
    for part, ask in (("verdict", _verdicts), ("relevance", _relevance), ("contexts", _contexts), ("citations", _citations)):
        if part in needs:
            asked = [(number, answer) for number, answer in enumerate(answers) if answer is not None]
            made = ask(judge, [answer for _, answer in asked], [found[number] for number, _ in asked])
            for (number, _), one in zip(asked, made, strict=True):
                found[number] = one
    return found


@dataclass(frozen=True)
class Counted:
    """What judgements were asked for, and how many a judge could not make."""

    asked: int = 0
    failed: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        """Both."""
        return Counted(self.asked + other.asked, self.failed + other.failed)


def counted(assessments: Sequence[Assessment], answers: Sequence[Answer | None], needs: Collection[str]) -> Counted:
    """Claims, relevances and cited sentences of some answers, and those that could not be judged."""
    pairs = zip(assessments, answers, strict=True)
    return sum((_counted(one, answer, needs) for one, answer in pairs if answer), Counted())


@runtime_checkable
class AskingMetric(Protocol):
    """An answer metric that asks a model of its own, which may fail: NaN where it `applies` says that it did."""

    def measure(self, example: Example, answer: Answer) -> float:
        """As any answer metric."""
        ...

    def applies(self, example: Example, answer: Answer) -> bool:
        """Whether there is anything to ask."""
        ...


def asked_of(
    metric: AskingMetric, values: Sequence[float], examples: Sequence[Example], answers: Sequence[Answer | None]
) -> Counted:
    """The answers that a metric was asked for, and those of which its model made no value."""
    rows = zip(values, examples, answers, strict=True)
    own = [value for value, example, answer in rows if answer and metric.applies(example, answer)]
    return Counted(len(own), sum(map(math.isnan, own)))


def _counted(one: Assessment, answer: Answer, needs: Collection[str]) -> Counted:
    supports = [claim.support for claim in one.verdict.claims] if one.verdict else []
    cited = [sentence.support for sentence in one.citations if sentence.contexts]
    spoken = [one.relevance] if "relevance" in needs and not answer.abstained else []
    values = (*supports, *cited, *spoken, *one.contexts)
    return Counted(len(values), sum(map(math.isnan, values)))


def _verdicts(judge: Judge, answers: Sequence[Answer], sofar: Sequence[Assessment]) -> list[Assessment]:
    asked = [number for number, answer in enumerate(answers) if not answer.abstained]
    made = dict(zip(asked, judged(judge, [_case(answers[number]) for number in asked]), strict=True))
    nothing = Verdict(abstained=True), Spent()
    return [_paid(one, made.get(number, nothing)[1], verdict=made.get(number, nothing)[0]) for number, one in enumerate(sofar)]


def _case(answer: Answer) -> Case:
    return Case(answer.reply.text, tuple(hit.chunk.text for hit in answer.contexts), answer.query.text)


def _relevance(judge: Judge, answers: Sequence[Answer], sofar: Sequence[Assessment]) -> list[Assessment]:
    asked = [number for number, answer in enumerate(answers) if not answer.abstained]
    pairs = [(_question(answers[number]), without_markers(answers[number].reply.text)) for number in asked]
    made = dict(zip(asked, related(judge, pairs), strict=True))
    rows = ((one, *made.get(number, (math.nan, Spent()))) for number, one in enumerate(sofar))
    return [_paid(one, spent, relevance=value) for one, value, spent in rows]


def _contexts(judge: Judge, answers: Sequence[Answer], sofar: Sequence[Assessment]) -> list[Assessment]:
    pairs = [(_question(answer), hit.chunk.text) for answer in answers for hit in answer.contexts]
    made = iter(found_relevant(judge, pairs))
    rows = [[next(made) for _ in answer.contexts] for answer in answers]
    return [
        _paid(one, sum((spent for _, spent in row), Spent()), contexts=tuple(value for value, _ in row))
        for one, row in zip(sofar, rows, strict=True)
    ]


def _citations(judge: Judge, answers: Sequence[Answer], sofar: Sequence[Assessment]) -> list[Assessment]:
    rows = zip(sofar, held(judge, answers), strict=True)
    return [_paid(one, spent, citations=sentences) for one, (sentences, spent) in rows]


def _paid(one: Assessment, spent: Spent, **parts: Any) -> Assessment:
    return replace(one, tokens=one.tokens + spent.tokens, cost=one.cost + spent.cost, **parts)


def _question(answer: Answer) -> str:
    """The question so that it can be understood alone, where something made it so."""
    return answer.sought.question if answer.sought else answer.query.text
