"""Draws of means against closed forms: P(best), and how far behind the best a trial may be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from rag.execution.sweep.selection.bootstrap import draw

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
