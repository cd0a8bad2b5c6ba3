"""What a choice is worth: closed forms, clusters, and equal trials of which the best seems better than it is."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from rag.evaluation.statistics.out_of_bag import estimate

N = 120
EASY = np.random.default_rng(1).uniform(0.2, 0.8, N)


def test_where_every_draw_chooses_the_same_trial_it_is_a_mean_with_its_interval() -> None:
    values, free = np.column_stack([EASY + 0.1, EASY]), np.zeros(2)
    mean, low, high = estimate(values, np.arange(N), free)
    count = (p := values[:, 0].mean()) * (1 - p) / (values[:, 0].var(ddof=1) / N)
    ends = proportion_confint(p * count, count, method="wilson")
    assert mean == pytest.approx(p, abs=0.003)
    assert [low, high] == pytest.approx(ends, abs=0.006)
    twice = estimate(np.repeat(values, 2, axis=0), np.repeat(np.arange(N), 2), free)
    assert twice == pytest.approx((mean, low, high)), "two equal questions of a cluster are one piece of evidence"
    assert all(np.isnan(estimate(values, np.zeros(N, np.int64), free)))
    low = estimate(np.ones((60, 2)) - [0.0, 0.01], np.arange(60), free)[1]
    assert low == pytest.approx(60 / (60 + 2.001**2), abs=1e-3), "a trial that failed no question yet may fail the next"


def test_the_best_of_many_equal_trials_is_worth_what_all_are() -> None:
    values = EASY[:, None] + np.random.default_rng(2).normal(0, 0.3, (N, 500))
    ordered = values[:, np.argsort(-values.mean(axis=0))]
    mean, low, high = estimate(ordered, np.arange(N), np.zeros(500))
    assert ordered[:, 0].mean() > EASY.mean() + 0.07
    assert mean == pytest.approx(EASY.mean(), abs=0.015)
    assert low < EASY.mean() < high


def test_draws_choose_by_price_and_take_the_cheaper_one_within_its_slack() -> None:
    values, cluster = np.column_stack([EASY + 0.1, EASY]), np.arange(N)
    worth = [estimate(values, cluster, np.array([price, 0.0]))[0] for price in (0.09, 0.11)]
    assert np.subtract(worth, EASY.mean()) == pytest.approx([0.1, 0.0], abs=0.003)
    near = [estimate(values, cluster, np.zeros(2), 1, slack)[0] for slack in (0.09, 0.11)]
    assert np.subtract(near, EASY.mean()) == pytest.approx([0.1, 0.0], abs=0.003)
