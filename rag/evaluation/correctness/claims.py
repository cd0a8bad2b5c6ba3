"""An answer against its references: by rules where they decide, else by the claims of both, which a judge compares."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.core.assessments import Case, Claim, Compared, Spent, Verdict, first_failure
from rag.core.numbers import mean
from rag.core.roles import Judge
from rag.core.text.facts import READ
from rag.core.text.refusals import declines, refused
from rag.core.text.squad import f1, normalised
from rag.core.text.value_rules import decide, expected
from rag.core.types import Answer, Example, Query, Reply
from rag.evaluation.attribution import judged

CLAIMS = 0.75
"""The weight of claims; that of words is the rest. They are those of ragas' answer correctness (Es et al. 2024)."""


@dataclass
class _Comparison:
    """An answer to a question, while it is compared: the best ruling, and the references that no rule decides."""

    question: str
    text: str
    ruled: Compared | None
    open: Sequence[str] = ()

    def cases(self) -> Iterator[Case]:
        """For each open reference its claims against the answer, and those of the answer against it."""
        for reference in self.open:
            yield Case(reference, (self.text,), self.question)
            yield Case(self.text, (reference,), self.question)


def compared(
    judge: Judge, examples: Sequence[Example], answers: Sequence[Answer | None], language: str = "english"
) -> list[tuple[Compared | None, Spent]]:
    """How right each answer is, and its cost; None for a question that should be declined, or has no reference.

    The best reference counts. A failed answer (None) has 0, and so has one that abstains unless a reference does. A judge is
    asked only where no rule decides.
    The question is no context: an answer that repeats what it assumes would be right.
    """
    rows = [_ruled(example, answer, language) for example, answer in zip(examples, answers, strict=True)]
    verdicts = iter(judged(judge, [case for row in rows if row for case in row.cases()]))
    return [
        _best(row, [(next(verdicts), next(verdicts)) for _ in row.open], language) if row else (None, Spent()) for row in rows
    ]


def _ruled(example: Example, answer: Answer | None, language: str) -> _Comparison | None:
    """The answer by rules; None where correctness does not apply."""
    references = [reference[:READ] for reference in example.answers if reference.strip()]
    if example.to_decline or not (references or example.expects):
        return None
    text, question = answer.reply.text[:READ] if answer else "", example.query.text
    if answer is None or (answer.abstained and not any(map(refused, references))):
        return _Comparison(question, text, Compared(0.0, "abstained" if answer else "failed"))
    if example.expects:
        return _Comparison(question, text, expected(question, text, example.expects, language))
    rulings = [decide(question, text, reference, language) for reference in references]
    best = max(filter(None, rulings), key=lambda ruling: ruling.value, default=None)
    left = [reference for reference, ruling in zip(references, rulings, strict=True) if not ruling]
    return _Comparison(question, text, best, () if best and best.value == 1 else left)


def _best(row: _Comparison, pairs: Sequence[tuple[tuple[Verdict, Spent], ...]], language: str) -> tuple[Compared, Spent]:
    """The best comparison of an answer with its references, and the cost of all."""
    known = [row.ruled] if row.ruled else []
    for reference, ((ours, _), (theirs, _)) in zip(row.open, pairs, strict=True):
        recall, precision = _supported(ours, reference, row.text), _supported(theirs, row.text, reference)
        claims = 2 * recall * precision / ((recall + precision) or 1.0)
        words = f1(normalised(row.text, language).split(), normalised(reference, language).split())
        failure = first_failure([ours, theirs]) if math.isnan(claims) else ""
        known.append(Compared(CLAIMS * claims + (1 - CLAIMS) * words, "claims", recall, precision, failure))
    best = max(known, key=lambda each: -1.0 if math.isnan(each.value) else each.value)
    return best, sum((spent for pair in pairs for _, spent in pair), Spent())


def _supported(verdict: Verdict, own: str, other: str) -> float:
    """The mean support of the claims of a text, NaN if none could be judged, 0 without a claim.

    To decline is a claim too, which is supported if the other text declines.
    """
    declining = [float(declines(other))] if declines(own) else []
    supports = [claim.support for claim in verdict.claims] + declining
    return mean(supports) if supports else 0.0


def verdicts(judge: Judge, cases: Sequence[Case]) -> list[Verdict]:
    """The correctness of texts by their contexts as references, as the support of one claim."""
    examples = [Example(Query("", case.question), answers=case.contexts) for case in cases]
    answers = [
        Answer(each.query, (), Reply(case.text), abstained=refused(case.text))
        for each, case in zip(examples, cases, strict=True)
    ]
    rows = (
        (case, found or Compared(math.nan, ""))
        for case, (found, _) in zip(cases, compared(judge, examples, answers), strict=True)
    )
    return [Verdict((Claim(0, len(case.text), found.value, failure=found.failure),)) for case, found in rows]
