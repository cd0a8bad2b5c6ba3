"""Judging of answers and the metrics of judgements, with a judge that compares words."""

import math
from collections.abc import Sequence

import pytest

from rag.components.metrics.answer_relevance import AnswerRelevance
from rag.components.metrics.citation_support import CitationSupport
from rag.components.metrics.citation_support_precision import CitationSupportPrecision
from rag.components.metrics.context_relevance import ContextRelevance
from rag.components.metrics.faithfulness import Faithfulness
from rag.core.assessments import PARTS, Assessment, Case, Cited, Claim, Spent, Verdict
from rag.core.text.refusals import claims
from rag.core.types import Answer, Chunk, Example, Hit, Query, Reply, Sought, Span
from rag.evaluation.answer_judging import Counted, assess, counted
from rag.execution.store.serialisation import assessment_of, json_values

CONTEXTS = ("red blue", "green", "red", "lost")


class ByWords:
    """Supports a claim if its words are in the contexts; cannot judge texts with the word `lost`."""

    threshold = 0.5

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        self.cases += cases
        return [self._verdict(case) for case in cases]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [math.nan if "lost" in text else float(question.strip("?") in text) for question, text in pairs]

    def _verdict(self, case: Case) -> Verdict:
        spans, abstained = claims(case.text)
        return Verdict(tuple(self._claim(case, *span) for span in spans), abstained)

    def _claim(self, case: Case, start: int, end: int) -> Claim:
        words = {word for word in case.text[start:end].lower().strip(". ").replace("[", " [").split() if "]" not in word}
        if "lost" in words:
            return Claim(start, end, math.nan, failure="lost")
        return Claim(start, end, float(words <= set(" ".join(case.contexts).split())))


class Dear(ByWords):
    """The same judge with costs."""

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        return [(verdict, Spent(10, 0.5)) for verdict in self.judge(cases)]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        return [(value, Spent(1, math.nan)) for value in self.relate(pairs)]


def answer(text: str, abstained: bool = False, contexts: Sequence[str] = CONTEXTS, sought: str = "") -> Answer:
    hits = tuple(Hit(Chunk(Span(f"d{n}", 0, len(each)), each), 1.0) for n, each in enumerate(contexts))
    query = Query("q", "red?")
    return Answer(query, hits, Reply(text), abstained=abstained, sought=Sought(sought, (sought,)) if sought else None)


def assessed(text: str, *needs: str, judge: ByWords | None = None, **changes: object) -> tuple[Answer, Assessment]:
    given = answer(text, **changes)  # type: ignore[arg-type]
    (assessment,) = assess(judge or ByWords(), [given], needs or PARTS, [Example(given.query)])
    return given, assessment


def test_every_part_is_requested_by_name() -> None:
    _, assessment = assessed("Red. Green.")
    assert assessment.verdict is not None
    assert [claim.support for claim in assessment.verdict.claims] == [1, 1]
    assert (assessment.relevance, [value == value for value in assessment.contexts]) == (0.0, [True, True, True, False])
    assert len(assessment.citations) == 2
    _, none = assessed("Red.", "relevance")
    assert (none.verdict, none.contexts, none.citations) == (None, (), ())


def test_relevance_is_measured_by_the_rewritten_question() -> None:
    assert assessed("Green.", "contexts", sought="green?")[1].contexts[:3] == (0, 1, 0)
    assert assessed("Green.", "contexts")[1].contexts[:3] == (1, 0, 1)


def test_an_abstention_is_not_judged() -> None:
    judge = ByWords()
    given, assessment = assessed("Purple, but I cannot say.", judge=judge, abstained=True)
    assert judge.cases == []
    assert assessment.verdict == Verdict(abstained=True)
    for metric in (Faithfulness(), AnswerRelevance(), CitationSupport(), CitationSupportPrecision()):
        assert math.isnan(metric.assess(given, assessment))
    assert ContextRelevance().assess(given, assessment) == pytest.approx(2 / 3)


def test_a_failed_answer_scores_0_in_every_metric_that_applies() -> None:
    (assessment,) = assess(ByWords(), [None], PARTS, [Example(Query("q", "red?"))])
    given = answer("", contexts=())
    metrics = (Faithfulness(), AnswerRelevance(), CitationSupport(), CitationSupportPrecision(), ContextRelevance())
    assert [metric.assess(given, assessment) for metric in metrics[:4]] == [0, 0, 0, 0]
    assert math.isnan(metrics[4].assess(given, assessment))
    assert counted([assessment], [None], PARTS) == Counted(0, 0)


@pytest.mark.parametrize(
    ("text", "recall", "precision"),
    [
        ("Red [1].", 1, 1),
        ("Red [2].", 0, 0),
        ("Red.", 0, 0),
        ("Red [1]. Green.", 1 / 2, 1),
        ("Red green [1][2].", 1, 1),  # neither is enough alone, and both are needed
        ("Red [1][2].", 1, 1 / 2),  # the second does not support it
        ("Red [1][3].", 1, 1),  # each is enough alone
        ("Red [2][1][3].", 1, 2 / 3),
        ("Purple [1][2].", 0, 0),
        ("Purple [1][2]. Red [1].", 1 / 2, 1 / 3),
        ("Red [9].", 0, 0),  # a marker to nothing cites nothing
        ("Red? Green [2].", 1, 1),  # a question claims nothing
        ("Red [1]. I cannot say more: the contexts do not say.", 1, 1),
        ("Lost [1]. Red [1].", 1, 1),  # a failed judgement counts in neither
        ("", 0, 0),
    ],
)
def test_citations_are_counted_as_alce_does(text: str, recall: float, precision: float) -> None:
    given, assessment = assessed(text, "citations")
    assert CitationSupport().assess(given, assessment) == pytest.approx(recall)
    assert CitationSupportPrecision().assess(given, assessment) == pytest.approx(precision)


def test_only_the_needed_citations_are_judged() -> None:
    judge = ByWords()
    assessed("Red [1]. Purple [1][2]. Green.", "citations", judge=judge)
    assert [(case.text, case.contexts) for case in judge.cases] == [("Red.", CONTEXTS[:1]), ("Purple.", CONTEXTS[:2])]


def test_failures_are_counted_and_left_out() -> None:
    given, assessment = assessed("Lost [1].")
    for metric in (Faithfulness(), AnswerRelevance(), CitationSupport(), CitationSupportPrecision()):
        value = metric.assess(given, assessment)
        assert math.isnan(value) or isinstance(metric, AnswerRelevance)
    assert assessment.citations == (Cited(0, 9, (1,), assessment.citations[0].support),)
    # a claim, a sentence that cites, a relevance and four contexts
    assert counted([assessment], [given], PARTS) == Counted(7, 3)
    assert counted([assessment], [given], ("verdict", "contexts")) == Counted(6, 3)


def test_costs_are_counted_once_per_judgement() -> None:
    _, assessment = assessed("Red [1][2].", judge=Dear())
    # a verdict; a relevance; four contexts; together, each alone, without the second
    assert assessment.tokens == 10 + 1 + 4 + 10 * (1 + 2 + 1)
    assert math.isnan(assessment.cost)
    _, cheap = assessed("Red [1].", "verdict", "citations", judge=Dear())
    assert (cheap.tokens, cheap.cost) == (20, 1.0)


def test_assessments_survive_the_round_trip_to_a_store() -> None:
    assessment = [assessed(text)[1] for text in ("Red [1][2]. Lost [1].", "", "Purple.")]
    back = assessment_of({"assessments": json_values(assessment)})
    assert repr(back) == repr(assessment)
