"""Prediction-powered means, against ppi-python and by their coverage."""

import numpy as np
import pytest

from rag.evaluation.statistics.prediction_powered import powered_mean

SCORES = np.arange(17) / 16
KNOWN = np.array([0.1, 0.9, 0.4, 0.7, 0.8, 0.3, 0.6, 0.2, 0.85, 0.95, 0.75, 0.65])
PEOPLE = np.array([0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1], np.float64)


def test_independent_texts_give_what_ppi_python_gives() -> None:
    """The values are those of ppi-python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci with alpha 0.05 and lam 1."""
    estimate = powered_mean(SCORES, KNOWN, PEOPLE)
    reference = (0.48333333333333334, 0.22504489690391283, 0.7416217697627538)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(reference, abs=1e-9)


def test_clusters_of_equal_texts_count_once() -> None:
    """Repeating every text in its cluster adds no information."""
    each = [str(number) for number in range(17)], [str(number) for number in range(12)]
    once = powered_mean(SCORES, KNOWN, PEOPLE, *each)
    thrice = powered_mean(*(np.repeat(part, 3) for part in (SCORES, KNOWN, PEOPLE)), *(np.repeat(names, 3) for names in each))
    assert (thrice.value, thrice.low, thrice.high) == pytest.approx((once.value, once.low, once.high))
    # Student's t and n - 1, where ppi-python uses the normal quantile and n.
    assert once.high - once.low > powered_mean(SCORES, KNOWN, PEOPLE).high - powered_mean(SCORES, KNOWN, PEOPLE).low


def test_one_cluster_has_no_interval_and_a_mean_stays_a_share() -> None:
    estimate = powered_mean(SCORES, KNOWN, PEOPLE, ["one"] * 17, ["other"] * 12)
    assert np.isnan([estimate.low, estimate.high]).all()
    sure = powered_mean(np.full(9, 0.9), np.full(9, 0.2), np.ones(9))
    assert (sure.value, sure.low, sure.high) == (1.0, 1.0, 1.0)


def test_the_interval_covers_the_mean_of_people_and_that_of_the_judge_does_not() -> None:
    random, covered, alone = np.random.default_rng(4), 0, 0
    for _ in range(400):
        truth = random.random(260) < 0.6
        says = np.clip(0.6 * truth + 0.32 + random.normal(scale=0.15, size=260), 0, 1)  # about .08 too much
        estimate = powered_mean(says[60:], says[:60], truth[:60].astype(np.float64))
        reach = 1.96 * says[60:].std() / np.sqrt(200)
        covered += estimate.low <= 0.6 <= estimate.high
        alone += abs(says[60:].mean() - 0.6) <= reach
    assert covered / 400 >= 0.93
    assert alone / 400 < 0.6
