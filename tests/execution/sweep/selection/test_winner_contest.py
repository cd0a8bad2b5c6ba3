"""How well data fits a trial's being the best, and draws of means: closed forms, properties, and the best that is left out."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import stats

from rag.evaluation.statistics.resampling import by_cluster
from rag.execution.sweep.selection.bootstrap import draw
from rag.execution.sweep.selection.contest import plausible


def scores(seed: int, questions: int = 60, trials: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.5, 0.1, (questions, trials))


def test_two_trials_are_one_exact_test_of_one_side() -> None:
    found = np.array([[0.0, 0.1 + 0.01 * row] for row in range(5)])
    assert plausible(found, np.arange(5)).tolist() == [1 / 32, 1.0]
    assert plausible(found[:4], np.arange(4)).tolist() == [1 / 16, 1.0]


def test_few_clusters_are_compared_with_every_flip_of_them() -> None:
    values = np.random.default_rng(1).normal(0, 1, (8, 3))
    sums = values - values.mean(axis=1, keepdims=True)
    flips = np.array(list(itertools.product([1, -1], repeat=8)))
    for trial in range(3):
        apart = np.delete(sums, trial, axis=1) - sums[:, [trial]]
        unit = apart / np.sqrt((apart**2).sum(axis=0))
        near = unit[:, unit.sum(axis=0) > -np.sqrt(np.log(8))]
        p = float(((flips @ near).max(axis=1) >= unit.sum(axis=0).max() - 1e-9).mean())
        assert plausible(values, np.arange(8))[trial] >= p - 1e-12
        assert p <= 0.05 or plausible(values, np.arange(8))[trial] == pytest.approx(p)


def test_one_cluster_no_questions_and_trials_that_answer_alike_are_all_plausible() -> None:
    assert plausible(scores(2), np.zeros(60, np.int64)).tolist() == [1.0] * 8
    assert plausible(np.zeros((0, 3)), np.zeros(0, np.int64)).tolist() == [1.0] * 3
    assert plausible(np.repeat(scores(2)[:, :1], 4, axis=1), np.arange(60)).tolist() == [1.0] * 4
    assert plausible(np.full((60, 3), np.nan), np.arange(60)).tolist() == [1.0] * 3


def test_questions_without_a_value_in_one_trial_are_left_out_of_all() -> None:
    values = scores(3)
    values[:, 0] += 0.2
    holes = values.copy()
    holes[40:, 2] = np.nan
    np.testing.assert_array_equal(plausible(holes, np.arange(60)), plausible(values[:40], np.arange(40)))


def test_copies_and_hopeless_trials_cost_nothing() -> None:
    pair = scores(4, 80, 2)
    pair[:, 1] += 0.03 - (pair[:, 1] - pair[:, 0]).mean()
    alone = plausible(pair, np.arange(80))[0]
    copies = plausible(np.repeat(pair, 10, axis=1), np.arange(80))
    assert copies[:10] == pytest.approx(alone, abs=0.01)
    hopeless = np.column_stack([pair, pair[:, :1] - 0.4 + scores(5, 80, 20) - 0.5])
    assert plausible(hopeless, np.arange(80))[0] == pytest.approx(alone, abs=0.02)


@given(arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 5)), elements=st.integers(0, 4).map(lambda n: n / 4)))
@settings(max_examples=40, deadline=None)
def test_the_best_by_mean_is_plausible_and_the_order_of_trials_does_not_matter(values: np.ndarray) -> None:
    cluster = np.arange(len(values)) % 12
    found = plausible(values, cluster)
    assert found[values.mean(axis=0).argmax()] > 0.05
    assert ((found > 0) & (found <= 1)).all()
    np.testing.assert_allclose(plausible(values[:, ::-1], cluster)[::-1], found, atol=1e-12)


def skewed(random: np.random.Generator) -> np.ndarray:
    """Twelve trials of one mean on 15 questions: eleven win a little nearly always, and lose much now and then."""
    lost = random.random((15, 11)) < 0.1
    return np.column_stack([np.full(15, 0.5), np.where(lost, 0.05, 0.55) + random.normal(0, 0.005, (15, 11))])


def test_a_trial_that_wins_seldom_and_by_much_is_not_left_out() -> None:
    """Sign flips alone leave it out in nine of ten tries; its mean is that of the others."""
    random, tries, out = np.random.default_rng(6), 80, 0
    for _ in range(tries):
        values = skewed(random)
        cluster = np.arange(15)
        out += int(plausible(values, cluster)[0] <= 0.05 and values[:, 0].mean() < values.mean(axis=0).max())
    assert out <= stats.binom.ppf(0.999, tries, 0.05)


def test_clusters_are_what_counts() -> None:
    values = scores(8, 20, 3)
    thrice, cluster = np.repeat(values, 3, axis=0), np.repeat(np.arange(20), 3)
    np.testing.assert_allclose(plausible(thrice, cluster), plausible(values, np.arange(20)), atol=1e-12)
    assert by_cluster(thrice, cluster, 20) == pytest.approx(3 * values)


RANDOM = np.random.default_rng(3)


def losing(questions: int, lost: int) -> np.ndarray:
    """Two trials: one right everywhere, one wrong in some questions."""
    values = np.ones((questions, 2))
    values[:lost, 1] = 0.0
    return values


@pytest.mark.parametrize(("questions", "lost"), [(20, 0), (60, 0), (60, 1), (100, 0), (100, 3), (300, 9)])
def test_losses_of_all_or_nothing_have_the_end_of_clopper_and_pearson(questions: int, lost: int) -> None:
    drawn = draw(losing(questions, lost), np.arange(questions))
    end = drawn.at_worst(np.array([1]))
    assert_allclose(end, [-stats.beta.ppf(0.95, lost + 1, questions - lost)], rtol=0.05)


def test_two_trials_with_normal_differences_share_p_best_as_the_normal_law_says() -> None:
    values = RANDOM.normal(0, 0.2, (400, 2))
    drawn = draw(values, np.arange(400))
    difference = values[:, 0] - values[:, 1]
    expected = stats.norm.cdf(difference.mean() / (difference.std() / np.sqrt(400)))
    assert_allclose(drawn.best(), [expected, 1 - expected], atol=0.015)


def test_questions_of_one_document_count_as_one() -> None:
    """Ten documents of six questions that all go the same way tell as much as ten questions."""
    ten = RANDOM.uniform(0, 1, (10, 3))
    alone, together = draw(ten, np.arange(10)), draw(ten.repeat(6, axis=0), np.arange(10).repeat(6))
    assert_allclose(alone.best(), together.best(), atol=1e-12)
    assert_allclose(alone.at_worst(np.array([1, 2])), together.at_worst(np.array([1, 2])), atol=1e-12)


def test_one_cluster_draws_nothing() -> None:
    assert draw(RANDOM.uniform(0, 1, (30, 3)), np.zeros(30, np.int64)) is None
    assert draw(RANDOM.uniform(0, 1, (1, 3)), np.arange(1)) is None
    lonely = RANDOM.uniform(0, 1, (30, 2))
    lonely[1:, 1] = np.nan
    assert draw(lonely, np.arange(30)) is None


def test_questions_without_a_value_are_left_out() -> None:
    values = RANDOM.uniform(0, 1, (40, 3))
    values[::4, 1] = np.nan
    drawn = draw(values, np.arange(40))
    assert drawn.unseen.shape == (len(drawn.means), 3)
    assert_allclose(drawn.means.mean(axis=0), np.nanmean(values, axis=0), atol=0.01)
    everywhere = values[:, :1]
    emptied = np.r_[everywhere, np.full((5, 1), np.nan)].repeat(2, axis=1)
    shorter, longer = draw(everywhere.repeat(2, axis=1), np.arange(40)), draw(emptied, np.arange(45))
    assert_allclose(shorter.means, longer.means)
