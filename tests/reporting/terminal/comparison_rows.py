"""Rows of a comparison that never ran."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rag.analysis.compare import Comparison, Table
from rag.analysis.compare.trials import Compared
from rag.evaluation.scoring import Scores
from rag.execution.sweep.trial_scores import Result

PLAIN = Comparison(
    base_name="base",
    candidate_name="other",
    column="ndcg@10",
    slice="",
    n=100,
    clusters=100,
    base_mean=0.5,
    candidate_mean=0.52,
    difference=0.02,
    low=-0.01,
    high=0.05,
    corrected_low=-0.02,
    corrected_high=0.06,
    p=0.2,
    p_adjusted=0.4,
    effect=0.12,
    wins=30,
    ties=50,
    losses=20,
    detectable=0.045,
    needed=506.3,
    shrunk=0.02,
    base_id="b" * 10,
    candidate_id="c" * 10,
)


def compared(rows: Sequence[Comparison], names: tuple[str, str] = ("base", "other"), **left_out: Any) -> Compared:
    """A comparison of two trials with these rows; `left_out` names questions that were not compared."""
    empty = Scores((), (), np.zeros((0, 0)), np.zeros(0, np.bool_))
    results = tuple(Result(mark * 10, name, {}, {}, empty, {}, {}) for mark, name in zip("bc", names, strict=True))
    return Compared(results, Table(tuple(rows), sum(row.tested for row in rows), **left_out))
