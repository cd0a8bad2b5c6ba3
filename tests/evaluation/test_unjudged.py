"""Bounds of a difference against every way to label, and labels that undo it."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from rag.components.metrics.mrr import ReciprocalRank
from rag.components.metrics.ndcg import DiscountedGain
from rag.components.metrics.recall import Recall
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import Judgements, RankingMetric
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.evaluation.gold_matching import judge
from rag.evaluation.gold_table import gold_table
from rag.evaluation.unjudged import Ranked, swing

NAMES = "abcdefgh"
CORPUS = Corpus.of([Document(name, "x" * 10) for name in NAMES], [Span(name, 0, 10) for name in NAMES])
CUT = 3


def ranked(order: str, gold: tuple[Evidence, ...], metric: RankingMetric, judged: str = "") -> Ranked:
    positions = [NAMES.index(name) for name in order]
    example = Example(Query("q", "?"), gold, judged=frozenset(judged))
    rankings = Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(positions)]])
    table = judge(rankings, gold_table(CORPUS, [example]))

    def value(known: Judgements) -> np.ndarray:
        return metric.score(known, np.full(len(known.items), CUT))

    return Ranked(table, np.array([positions[:CUT]]), value)


def documents(relevant: str) -> tuple[Evidence, ...]:
    return tuple(Evidence((name,)) for name in relevant)


def quotes(relevant: str) -> tuple[Evidence, ...]:
    return (Evidence(tuple(Span(name, 2, 8) for name in relevant)),)


@pytest.mark.parametrize("metric", [Recall(), ReciprocalRank(), DiscountedGain()])
@pytest.mark.parametrize("gold", [documents, quotes])
@pytest.mark.parametrize(
    ("first", "second", "known"), [("abcdh", "dbaeh", "a"), ("abcgh", "defah", "ah"), ("deabh", "adebh", "a")]
)
def test_the_ends_are_those_of_every_way_to_label(
    metric: RankingMetric, gold: Callable[[str], tuple[Evidence, ...]], first: str, second: str, known: str
) -> None:
    """`c` was read and is not relevant, so no label can make it so."""
    open_names = sorted({*first[:CUT], *second[:CUT]} - {*known, "c"})
    values = []
    for labels in product((False, True), repeat=len(open_names)):
        more = known + "".join(name for name, on in zip(open_names, labels, strict=True) if on)
        own = (ranked(order, gold(more), metric) for order in (first, second))
        values.append((float(np.subtract(*(each.value(each.judged)[0] for each in own))), sum(labels)))
    found = swing(*(ranked(order, gold(known), metric, "c") for order in (first, second)), np.array([gold is documents]))
    assert found.ends == pytest.approx((min(values)[0], max(values)[0]))
    enough = min((count for value, count in values if value <= 1e-12), default=None)
    assert found.to_lose(np.array([0]), shown=False) == enough


def test_as_many_labels_undo_what_is_shown_as_a_sign_test_needs() -> None:
    """Nine questions for the first trial and none for the second; p is .004, .008, .016 … 2 ** (1 - n) with n of them left."""
    first, second = (ranked(order, documents("a"), ReciprocalRank(), "ac") for order in ("acd", "bcd"))
    metric, nine = ReciprocalRank(), []
    for each in (first, second):
        columns = {name: np.repeat(getattr(each.judged, name), 9, axis=0) for name in Judgements.__dataclass_fields__}
        value = lambda known: metric.score(known, np.full(len(known.items), CUT))  # noqa: E731
        nine.append(Ranked(Judgements(**columns), np.repeat(each.passages, 9, axis=0), value))
    found = swing(nine[0], nine[1], np.ones(9, np.bool_))
    assert found.ends == (0.0, 1.0)
    assert found.to_lose(np.arange(9), shown=True) == 4
    assert found.to_lose(np.arange(9), shown=False) == 9
