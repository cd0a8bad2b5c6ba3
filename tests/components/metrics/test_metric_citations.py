"""Citations against gold, by hand, and what counts as declining."""

import math

import pytest

from rag.components.metrics.abstention import Abstention
from rag.components.metrics.answered import Answered
from rag.components.metrics.citation_precision import CitationPrecision
from rag.components.metrics.citation_recall import CitationRecall
from rag.components.metrics.declined import Declined
from rag.components.metrics.evidence_cited import EvidenceCited
from rag.core.records import Answer, Chunk, Evidence, Example, Hit, Query, Reply, Span

CONTEXTS = tuple(Hit(Chunk(Span(doc, start, start + 100), "x" * 100), 1.0) for doc, start in (("a", 0), ("a", 100), ("b", 0)))
"""[1] and [2] are of document a, [3] of b."""
FIRST, SECOND = Evidence((Span("a", 10, 30),)), Evidence((Span("a", 90, 190), Span("z", 0, 5)))
BOTH = Example(Query("q", "?"), (FIRST, SECOND))
"""The first group is in [1], the second in [2], which has 90 of its 100 characters."""
NONE = Example(Query("q", "?"))


def answer(text: str, abstained: bool = False) -> Answer:
    return Answer(Query("q", "?"), CONTEXTS, Reply(text), abstained=abstained)


@pytest.mark.parametrize(
    ("text", "precision", "recall", "evidence"),
    [
        ("One [1]. Two [2].", 1, 1, 1),
        ("One [1]. Two [3].", 1 / 2, 1 / 2, 1 / 2),
        ("One [1][3]. Two.", 1 / 2, 1 / 2, 1 / 2),
        ("One [1, 3]. Two [2, 3]. Three [3]. Four.", 2 / 5, 2 / 4, 1),
        ("One [1], and one more [1].", 1, 1, 1 / 2),
        ("One. [1] Two. [9]", 1, 1 / 2, 1 / 2),
        ("# One [1]\n\nTwo. Three? [2]", 0, 0, 0),
        ("One. Two.", 0, 0, 0),
        ("I do not know that [1]. Two [2].", 1, 1, 1 / 2),
        ("", 0, 0, 0),
    ],
)
def test_values_by_hand(text: str, precision: float, recall: float, evidence: float) -> None:
    assert CitationPrecision().measure(BOTH, answer(text)) == pytest.approx(precision)
    assert CitationRecall().measure(BOTH, answer(text)) == pytest.approx(recall)
    assert EvidenceCited().measure(BOTH, answer(text)) == pytest.approx(evidence)


def test_an_abstention_cites_nothing_and_loses_its_evidence() -> None:
    declined = answer("I do not know.", abstained=True)
    assert math.isnan(CitationPrecision().measure(BOTH, declined))
    assert math.isnan(CitationRecall().measure(BOTH, declined))
    assert EvidenceCited().measure(BOTH, declined) == 0


@pytest.mark.parametrize("metric", [CitationPrecision(), CitationRecall(), EvidenceCited()])
@pytest.mark.parametrize("example", [NONE, Example(Query("q", "?"), (Evidence((Span("a", 0, 9),), 0),))])
def test_without_gold_there_is_nothing_to_cite(metric: EvidenceCited, example: Example) -> None:
    assert math.isnan(metric.measure(example, answer("One [1].")))


@pytest.mark.parametrize(("coverage", "value"), [(0.1, 1), (0.11, 0), (1.0, 0)])
def test_a_passage_holds_what_it_covers_enough_of(coverage: float, value: float) -> None:
    # Context [1] has 10 of the 100 characters of the second group.
    example = Example(Query("q", "?"), (SECOND,))
    assert CitationPrecision(coverage).measure(example, answer("One [1].")) == value
    assert EvidenceCited(coverage).measure(example, answer("One [1].")) == value


def test_gold_that_is_a_document_is_in_all_of_its_passages() -> None:
    example = Example(Query("q", "?"), (Evidence(("a",)), Evidence(("b",))))
    assert CitationPrecision().measure(example, answer("One [1, 2].")) == 1
    assert EvidenceCited().measure(example, answer("One [1, 2].")) == 1 / 2


@pytest.mark.parametrize(
    ("example", "declined", "abstention", "answered", "refused"),
    [(BOTH, False, 1, 1, None), (BOTH, True, 0, 0, None), (NONE, False, 0, None, 0), (NONE, True, 1, None, 1)],
)
def test_declining(example: Example, declined: bool, abstention: float, answered: float | None, refused: float | None) -> None:
    given = answer("One [1].", declined)
    assert Abstention().measure(example, given) == abstention
    for metric, value in ((Answered(), answered), (Declined(), refused)):
        measured = metric.measure(example, given)
        assert math.isnan(measured) if value is None else measured == value
