"""What people write as an objective, and what is read."""

import math

import numpy as np
import pytest

from rag.core.errors import ConfigError
from rag.evaluation.scoring import Scores
from rag.execution.sweep.objective import Bound, Objective, Term

COLUMNS = ["ndcg@10", "recall@5"]


def read(*clauses: str) -> Objective:
    return Objective.parse(list(clauses), COLUMNS)


def test_one_clause() -> None:
    assert Objective.parse("maximize ndcg@10", COLUMNS) == Objective((Term("ndcg@10"),))
    assert Objective.parse("minimize ndcg@10", COLUMNS) == Objective((Term("ndcg@10", maximize=False),))
    assert Objective.parse("latency_p95_ms", COLUMNS) == Objective((Term("latency_p95_ms", maximize=False),))
    assert Objective.parse("maximize index_bytes", []).maximize


def test_nothing_said_is_the_usual_metric_or_the_first() -> None:
    assert Objective.parse("", COLUMNS).column == "ndcg@10"
    assert Objective.parse("", ["mrr@10", "recall@5"]).column == "mrr@10"
    assert read("latency_p95_ms <= 200").terms == (Term("ndcg@10"),)


def test_sums_and_bounds() -> None:
    found = read("maximize 0.5 * recall@5", "minimize 2*ndcg@10", "latency_p95_ms ≤ 200", "recall@5 >= .8")
    assert found.terms == (Term("recall@5", 0.5), Term("ndcg@10", 2.0, maximize=False))
    assert found.bounds == (Bound("latency_p95_ms", True, 200.0), Bound("recall@5", False, 0.8))
    assert read("0.5 * recall@5 + 0.5 * ndcg@10") == read("0.5 * recall@5", "maximize 0.5 * ndcg@10")
    assert Objective.parse("maximize recall@5, cost_usd <= 1e-2", COLUMNS) == read("recall@5", "cost_usd <= .01")


@pytest.mark.parametrize(
    "clauses",
    [
        ("maximize ndcg@10",),
        ("minimize index_bytes", "recall@5 >= 0.123456"),
        ("0.25 * recall@5 + 0.75 * ndcg@10", "latency_p95_ms <= 0.1"),
        ("minimize 2 * recall@5", "3 * ndcg@10"),
    ],
)
def test_what_is_shown_reads_back(clauses: tuple[str, ...]) -> None:
    found = read(*clauses)
    again = Objective.parse(found.text, COLUMNS)
    assert (set(again.terms), again.bounds) == (set(found.terms), found.bounds)
    assert again.text == found.text


@pytest.mark.parametrize(
    ("clauses", "what"),
    [
        (("maximise ndcg@10",), "maximise"),
        (("ndgc@10",), "did you mean 'ndcg@10'"),
        (("ndcg@10 < 3",), "ndcg@10 < 3"),
        (("latncy_p95_ms <= 3",), "did you mean 'latency_p95_ms'"),
        (("0.5 * ndcg@10", "0.5 * latency_p95_ms"), "no common unit"),
        (("ndcg@10", "ndcg@10"), "twice"),
        (("-1 * ndcg@10",), "above 0"),
        (("0 * ndcg@10",), "above 0"),
        (("0.5 *",), r"0.5 \*"),
        (("recall@5 <= 1e999",), "recall@5"),
    ],
)
def test_what_cannot_be_read(clauses: tuple[str, ...], what: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        read(*clauses)
    assert caught.value.where == "objective"


def test_per_question_higher_is_better() -> None:
    values = np.array([[0.5, 1.0], [0.2, np.nan]])
    scores = Scores(("a", "b"), ("ndcg@10", "recall@5"), values, np.zeros(2, np.bool_))
    np.testing.assert_allclose(read("minimize 3 * ndcg@10").per_question(scores), [-0.5, -0.2])
    np.testing.assert_allclose(read("ndcg@10 + 0.5 * recall@5").per_question(scores), [1.0, np.nan])
    np.testing.assert_allclose(read("ndcg@10", "minimize .5 * recall@5").per_question(scores), [0.0, np.nan])
    with pytest.raises(ValueError, match="not measured per question"):
        read("latency_p95_ms").per_question(scores)


def test_bounds_hold_up_to_the_limit_and_never_for_what_is_unknown() -> None:
    most, least, same = (Bound.parse(text) for text in ("x <= 2", "x>=2", "failed == 0"))
    assert [most.holds(value) for value in (1.9, 2, 2.1, math.nan)] == [True, True, False, False]
    assert [least.holds(value) for value in (1.9, 2, 2.1, math.nan)] == [False, True, True, False]
    assert [same.holds(value) for value in (0, 1, math.nan)] == [True, False, False]
    assert (most.text, least.text, same.text) == ("x <= 2", "x >= 2", "failed == 0")
    assert Bound.parse("latency_p95_ratio ≤ 1.3") == Bound("latency_p95_ratio", True, 1.3)
    with pytest.raises(ConfigError, match="<="):
        Bound.parse("x is small")


def test_a_trial_is_given_the_bounds_that_it_breaks() -> None:
    found = read("ndcg@10", "latency_p95_ms <= 200", "recall@5 >= 0.5")
    assert found.broken_bounds({"latency_p95_ms": 200.0, "recall@5": 0.5}.__getitem__) == []
    assert [bound.text for bound in found.broken_bounds({"latency_p95_ms": 201.0, "recall@5": math.nan}.__getitem__)] == [
        "latency_p95_ms <= 200",
        "recall@5 >= 0.5",
    ]
