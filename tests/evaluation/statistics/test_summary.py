"""Means and intervals against statsmodels."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rag.core.types import Example, Query
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.summary import summarise

Floats = NDArray[np.float64]


def table(values: Floats, failed: int = 0) -> Scores:
    names = tuple(f"q{row}" for row in range(len(values)))
    columns = tuple(f"m{column}@5" for column in range(values.shape[1]))
    return Scores(names, columns, values, np.arange(len(values)) < failed)


def asked(clusters: list[str], kinds: list[str] | None = None) -> list[Example]:
    kinds = kinds or [""] * len(clusters)
    return [Example(Query(f"q{n}", "?"), cluster=c, kind=k) for n, (c, k) in enumerate(zip(clusters, kinds, strict=True))]


def expected(values: Floats, clusters: list[str]) -> tuple[float, float]:
    """Wilson's interval of statsmodels, with n from the jackknife error over clusters."""
    names = np.array(clusters)
    sizes = np.array([np.sum(names == name) for name in sorted(set(clusters))])
    kept = np.array([values[names != name].mean() for name in sorted(set(clusters))])
    mean, error = values.mean(), np.sqrt(((kept - values.mean()) ** 2).sum() * (1 - 1 / len(kept)))
    equal = max(sizes.sum() ** 2 / (sizes**2).sum(), 2.0)
    n = mean * (1 - mean) / error**2 if error > 1e-9 * mean else equal
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.975, equal - 1))
    low, high = proportion_confint(mean * n, n, alpha, "wilson")
    return float(low), float(high)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 8).map(lambda n: n / 8)), min_size=2, max_size=60))
@settings(max_examples=60, deadline=None)
def test_intervals_are_cluster_robust_and_within_the_span(rows: list[tuple[str, float]]) -> None:
    clusters, values = [name for name, _ in rows], np.array([value for _, value in rows])
    summary = summarise(table(values[:, None]), asked(clusters))
    if len(set(clusters)) == 1:
        assert np.isnan([summary.low[0], summary.high[0]]).all()
    else:
        assert (summary.low[0], summary.high[0]) == pytest.approx(expected(values, clusters), abs=1e-9)
        assert 0 <= summary.low[0] <= summary.mean[0] + 1e-12
        assert summary.mean[0] - 1e-12 <= summary.high[0] <= 1


def test_questions_without_a_value_are_left_out() -> None:
    nan = float("nan")
    values = np.array([[1.0, nan], [0.5, nan], [0.0, 0.25], [nan, 0.75]])
    summary = summarise(table(values), asked(["a", "a", "b", "c"]))
    assert summary.mean.tolist() == [0.5, 0.5]
    assert summary.n.tolist() == [3, 2]
    assert summary.clusters.tolist() == [2, 2]
    assert (summary.low[0], summary.high[0]) == pytest.approx(expected(values[:3, 0], ["a", "a", "b"]))
    assert (summary.low[1], summary.high[1]) == pytest.approx(expected(values[2:, 1], ["b", "c"]))


def test_one_cluster_has_no_interval_and_no_question_no_mean() -> None:
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


def test_questions_without_a_cluster_are_clusters_of_their_own() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.5, 0.25])
    summary = summarise(table(values[:, None]), asked(["a", "a", "", "", "1"]))
    assert summary.clusters.tolist() == [4]
    assert (summary.low[0], summary.high[0]) == pytest.approx(expected(values, ["a", "a", "x", "y", "1"]))


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
    low = pytest.approx(0.01224, abs=1e-5)
    assert written["columns"]["m0@5"] == {"mean": 1.0, "low": low, "high": 1.0, "n": 2, "clusters": 2}
    assert written["columns"]["m1@5"] == {"mean": None, "low": None, "high": None, "n": 0, "clusters": 0}
    assert written["kinds"]["list"] == {"m0@5": {"mean": 1.0, "n": 1}, "m1@5": {"mean": None, "n": 0}}
    assert (written["questions"], written["failed"]) == (2, 0)
