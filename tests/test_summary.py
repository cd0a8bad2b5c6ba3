"""Means and intervals against a textbook, and against least squares with a clustered sandwich."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats

from rag.evaluate import Scores
from rag.records import Example, Query
from rag.summary import summarise

Floats = NDArray[np.float64]


def table(values: Floats, failed: int = 0) -> Scores:
    names = tuple(f"q{row}" for row in range(len(values)))
    columns = tuple(f"m{column}@5" for column in range(values.shape[1]))
    return Scores(names, columns, values, np.arange(len(values)) < failed)


def asked(clusters: list[str], kinds: list[str] | None = None) -> list[Example]:
    kinds = kinds or [""] * len(clusters)
    return [Example(Query(f"q{n}", "?"), cluster=c, kind=k) for n, (c, k) in enumerate(zip(clusters, kinds, strict=True))]


def sandwich(values: Floats, clusters: list[str]) -> tuple[float, float]:
    """The mean as least squares on a constant, with the CR1 covariance (X'X)⁻¹ (Σ X_g'e_g e_g'X_g) (X'X)⁻¹ · G/(G-1)."""
    design = np.ones((len(values), 1))
    bread = np.linalg.inv(design.T @ design)
    beta = np.linalg.lstsq(design, values, rcond=None)[0]
    meat = np.zeros((1, 1))
    names = sorted(set(clusters))
    for name in names:
        rows = [row for row, cluster in enumerate(clusters) if cluster == name]
        moment = design[rows].T @ (values[rows] - design[rows] @ beta)
        meat += np.outer(moment, moment)
    variance = (bread @ meat @ bread)[0, 0] * len(names) / (len(names) - 1)
    reach = stats.t.ppf(0.975, len(names) - 1) * np.sqrt(variance)
    return float(beta[0] - reach), float(beta[0] + reach)


@given(arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.floats(0, 1)))
@settings(max_examples=60, deadline=None)
def test_without_clusters_the_interval_is_the_textbooks(values: Floats) -> None:
    summary = summarise(table(values), asked([""] * len(values)))
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    reach = stats.t.ppf(0.975, len(values) - 1) * error
    np.testing.assert_allclose(summary.mean, values.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(summary.low, values.mean(axis=0) - reach, atol=1e-9)
    np.testing.assert_allclose(summary.high, values.mean(axis=0) + reach, atol=1e-9)
    assert summary.clusters.tolist() == [len(values)] * values.shape[1]


def test_clusters_of_one_are_scipys_interval() -> None:
    values = np.random.default_rng(1).random(30)
    summary = summarise(table(values[:, None]), asked([f"c{n}" for n in range(30)]))
    low, high = stats.t.interval(0.95, 29, loc=values.mean(), scale=stats.sem(values))
    assert (summary.low[0], summary.high[0]) == pytest.approx((low, high), abs=1e-12)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 1)), min_size=2, max_size=60))
@settings(max_examples=150, deadline=None)
def test_clustered_intervals_are_those_of_the_sandwich(rows: list[tuple[str, float]]) -> None:
    clusters, values = [name for name, _ in rows], np.array([value for _, value in rows])
    summary = summarise(table(values[:, None]), asked(clusters))
    if len(set(clusters)) == 1:
        assert np.isnan([summary.low[0], summary.high[0]]).all()
    else:
        assert (summary.low[0], summary.high[0]) == pytest.approx(sandwich(values, clusters), abs=1e-9)


def test_repeating_every_question_in_its_cluster_adds_no_confidence() -> None:
    values = np.random.default_rng(2).random(12)
    once = summarise(table(values[:, None]), asked([f"c{n}" for n in range(12)]))
    thrice = summarise(table(np.repeat(values, 3)[:, None]), asked([f"c{n}" for n in range(12) for _ in range(3)]))
    assert thrice.low == pytest.approx(once.low)
    assert thrice.n.tolist() == [36]
    assert thrice.clusters.tolist() == [12]


def test_questions_that_a_column_does_not_apply_to_are_left_out_of_it() -> None:
    nan = float("nan")
    values = np.array([[1.0, nan], [0.5, nan], [0.0, 0.25], [nan, 0.75]])
    summary = summarise(table(values), asked(["a", "a", "b", "c"]))
    assert summary.mean.tolist() == [0.5, 0.5]
    assert summary.n.tolist() == [3, 2]
    assert summary.clusters.tolist() == [2, 2]
    assert (summary.low[0], summary.high[0]) == pytest.approx(sandwich(values[:3, 0], ["a", "a", "b"]))
    assert (summary.low[1], summary.high[1]) == pytest.approx(sandwich(values[2:, 1], ["b", "c"]))


def test_one_cluster_or_one_question_has_no_interval_and_none_no_mean() -> None:
    nan = float("nan")
    values = np.array([[1.0, 0.5, nan], [0.0, nan, nan]])
    summary = summarise(table(values), asked(["a", "a"]))
    assert np.isnan(summary.low).all()
    assert np.isnan(summary.high).all()
    np.testing.assert_array_equal(summary.mean, [0.5, 0.5, nan])
    assert summary.n.tolist() == [2, 1, 0]
    empty = summarise(table(np.zeros((0, 2))), [])
    assert np.isnan(empty.mean).all()
    assert (empty.questions, empty.kinds) == (0, ())


def test_equal_scores_in_two_clusters_are_a_point() -> None:
    summary = summarise(table(np.full((4, 1), 0.25)), asked(["a", "a", "b", "b"]))
    assert (summary.low[0], summary.high[0]) == (0.25, 0.25)


def test_questions_without_a_cluster_are_their_own_beside_named_ones() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.5, 0.25])
    summary = summarise(table(values[:, None]), asked(["a", "a", "", "", "1"]))
    assert summary.clusters.tolist() == [4]
    assert (summary.low[0], summary.high[0]) == pytest.approx(sandwich(values, ["a", "a", "x", "y", "1"]))


def test_kinds_have_their_own_means_and_failures_count() -> None:
    nan = float("nan")
    values = np.array([[1.0, nan], [0.5, 0.5], [0.0, 1.0]])
    summary = summarise(table(values, failed=1), asked(["", "", ""], ["fact", "fact", "list"]))
    assert summary.kinds == ("fact", "list")
    np.testing.assert_array_equal(summary.kind_mean, [[0.75, 0.5], [0.0, 1.0]])
    np.testing.assert_array_equal(summary.kind_n, [[2, 1], [1, 1]])
    assert (summary.questions, summary.failed) == (3, 1)


def test_a_summary_is_strict_json() -> None:
    nan = float("nan")
    summary = summarise(table(np.array([[1.0, nan], [1.0, nan]])), asked(["", ""], ["fact", "list"]))
    written = json.loads(json.dumps(summary.to_json(), allow_nan=False))
    assert written["columns"]["m0@5"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 2, "clusters": 2}
    assert written["columns"]["m1@5"] == {"mean": None, "low": None, "high": None, "n": 0, "clusters": 0}
    assert written["kinds"]["list"] == {"m0@5": {"mean": 1.0, "n": 1}, "m1@5": {"mean": None, "n": 0}}
    assert (written["questions"], written["failed"]) == (2, 0)
