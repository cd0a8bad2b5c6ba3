"""Ranking metrics on tables written by hand."""

from dataclasses import replace

import numpy as np
import pytest

from rag.components.metrics.char_precision import CharPrecision
from rag.components.metrics.char_recall import CharRecall
from rag.components.metrics.hit import Hit
from rag.components.metrics.iou import IntersectionOverUnion
from rag.components.metrics.judged import JudgedShare
from rag.components.metrics.map import AveragePrecision
from rag.components.metrics.mrr import ReciprocalRank
from rag.components.metrics.ndcg import DiscountedGain
from rag.components.metrics.precision import Precision
from rag.components.metrics.recall import Recall
from rag.core.roles import RankingMetric
from rag.evaluation.gold_matching import Judged

# One question: groups of grade 1, 3 and 2 at ranks 4, never and 2; six items of ten characters; twenty gold characters.
TABLE = Judged(
    group_ranks=np.array([[4, 0, 2, -1]], np.int32),
    grades=np.array([[1.0, 3.0, 2.0, 0.0]]),
    relevant=np.array([[False, True, False, True, True, False]]),
    judged=np.array([[True, True, False, True, True, False]]),
    gold_seen=np.array([[0, 8, 8, 12, 12, 12]]),
    chars_seen=np.array([[10, 20, 25, 35, 45, 50]]),
    chars_read=np.array([[10, 20, 30, 40, 50, 60]]),
    gold_chars=np.array([20]),
    items=np.array([6]),
    answerable=np.array([True]),
)
LOG2 = np.log2


@pytest.mark.parametrize(
    ("metric", "cut", "value"),
    [
        *((Recall(), *case) for case in ((1, 0), (2, 1 / 3), (4, 2 / 3), (99, 2 / 3))),
        *((Precision(), *case) for case in ((4, 2 / 4), (5, 3 / 5), (10, 3 / 10))),
        *((Hit(), *case) for case in ((1, 0), (2, 1))),
        *((AveragePrecision(), *case) for case in ((3, (1 / 2) / 3), (4, (1 / 2 + 2 / 4) / 3))),
        *((ReciprocalRank(), *case) for case in ((1, 0), (4, 1 / 2))),
        *((DiscountedGain(), *case) for case in ((1, 0), (2, (2 / LOG2(3)) / (3 + 2 / LOG2(3))))),
        (DiscountedGain(), 4, (2 / LOG2(3) + 1 / LOG2(5)) / (3 + 2 / LOG2(3) + 1 / LOG2(4))),
        *((JudgedShare(), *case) for case in ((2, 1), (3, 2 / 3), (10, 4 / 6))),
        *((CharRecall(), *case) for case in ((1, 0), (3, 8 / 20), (6, 12 / 20))),
        *((CharPrecision(), *case) for case in ((2, 8 / 20), (4, 12 / 35))),
        *((IntersectionOverUnion(), *case) for case in ((2, 8 / (20 + 20 - 8)), (4, 12 / (20 + 35 - 12)))),
    ],
)
def test_values_by_hand(metric: RankingMetric, cut: int, value: float) -> None:
    assert metric.score(TABLE, np.array([cut])).tolist() == pytest.approx([value], abs=1e-12)


def test_gold_that_is_whole_documents_has_no_score_of_characters() -> None:
    whole = replace(TABLE, gold_chars=np.array([0]), gold_seen=0 * TABLE.gold_seen)
    scores = [metric.score(whole, np.array([4])).item() for metric in (CharRecall(), CharPrecision(), IntersectionOverUnion())]
    assert np.isnan(scores).all()
