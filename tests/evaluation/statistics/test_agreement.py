"""Agreement with labels, against sklearn and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score, recall_score, roc_auc_score

from rag.evaluation.statistics.agreement import DECISIONS, Auc, Decisions, Resampled

ONES = np.ones((1, 30))
both = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=30, max_size=30)


@settings(max_examples=40, deadline=None)
@given(both)
def test_figures_are_those_of_sklearn(drawn: list[tuple[float, bool]]) -> None:
    scores, labels = np.array([score for score, _ in drawn]), np.array([label for _, label in drawn])
    if labels.all() or not labels.any():
        assert np.isnan(Auc(scores, labels)(ONES)[0])
        return
    decided = scores >= 0.5
    assert Auc(scores, labels)(ONES)[0] == pytest.approx(roc_auc_score(labels, scores))
    estimate = {name: Decisions(decided, labels, name)(ONES)[0] for name in DECISIONS}
    assert estimate["sensitivity"] == pytest.approx(recall_score(labels, decided))
    assert estimate["specificity"] == pytest.approx(recall_score(~labels, ~decided))
    assert estimate["accuracy"] == pytest.approx((decided == labels).mean())
    assert estimate["kappa"] == pytest.approx(cohen_kappa_score(labels, decided))


def test_weights_are_numbers_of_repetitions() -> None:
    random = np.random.default_rng(1)
    scores, labels, weights = random.random(30).round(1), random.random(30) < 0.4, random.integers(0, 3, (4, 30)).astype(float)
    for row, value in zip(weights, Auc(scores, labels)(weights), strict=True):
        repeated = np.repeat(np.arange(30), row.astype(int))
        assert value == pytest.approx(roc_auc_score(labels[repeated], scores[repeated]))


@pytest.mark.parametrize("texts", [4, 20])
def test_the_interval_of_a_perfect_result_is_wilsons(texts: int) -> None:
    labels = np.arange(2 * texts) < texts
    drawn = Resampled([str(number) for number in range(2 * texts)], 200)
    wilson = binomtest(texts, texts).proportion_ci(method="wilson").low
    assert wilson < 0.9
    for statistic in (
        Decisions(labels, labels, "sensitivity"),
        Decisions(labels, labels, "specificity"),
        Auc(labels * 1.0, labels),
    ):
        estimate = drawn.measured(statistic)
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((1, wilson, 1))
    nothing = drawn.measured(Decisions(~labels, labels, "sensitivity"))
    assert (nothing.value, nothing.low, nothing.high) == pytest.approx((0, 0, 1 - wilson))
    all_right, agreed = (drawn.measured(Decisions(labels, labels, name)) for name in ("accuracy", "kappa"))
    # Chance agrees with half of the labels, so a loss of accuracy counts twice.
    assert agreed.low == pytest.approx(1 - 2 * (1 - all_right.low))
    in_pairs = Resampled([str(number // 2) for number in range(2 * texts)], 200)
    halved = binomtest(texts // 2, texts // 2).proportion_ci(method="wilson").low
    assert in_pairs.measured(Decisions(labels, labels, "sensitivity")).low == pytest.approx(halved)


def test_a_constant_judge_has_no_agreement_beyond_chance() -> None:
    labels = np.arange(20) < 10
    drawn = Resampled([str(number) for number in range(20)], 200)
    for statistic, value in ((Decisions(labels | True, labels, "kappa"), 0.0), (Auc(np.ones(20), labels), 0.5)):
        estimate = drawn.measured(statistic)
        assert (estimate.value, estimate.low, estimate.high) == (value, value, value)


def test_few_clusters_limit_the_p_value() -> None:
    labels = np.arange(8) < 4
    good, bad = labels * 1.0, (~labels) * 1.0
    drawn = Resampled([str(number % 4) for number in range(8)], 1000)
    assert drawn.difference(*(drawn.values(Auc(scores, labels)) for scores in (good, bad))).p == 2 / 2**4


def test_cases_of_one_cluster_are_drawn_together() -> None:
    random = np.random.default_rng(2)
    scores, labels = np.repeat(random.random(40), 10), np.repeat(random.random(40) < 0.5, 10)
    widths = []
    for clusters in (np.arange(400), np.arange(400) // 10):
        drawn = Resampled([str(number) for number in clusters], 1000)
        estimate = drawn.estimate(drawn.values(Auc(scores, labels)))
        widths.append(estimate.high - estimate.low)
    assert 2 < widths[1] / widths[0] < 5


def test_differences_are_paired() -> None:
    random = np.random.default_rng(3)
    labels = random.random(300) < 0.5
    good, noise = labels + random.normal(size=300), random.normal(size=300)
    drawn = Resampled([str(number) for number in range(300)], 1000)
    one, two, same = (drawn.values(Auc(scores, labels)) for scores in (good, noise, good * 2))
    assert drawn.difference(one, two).p == pytest.approx(2 / 1001)
    assert drawn.difference(two, one).value == -drawn.difference(one, two).value
    assert (drawn.difference(one, same).value, drawn.difference(one, same).p) == (0.0, 1.0)
