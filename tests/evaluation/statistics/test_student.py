"""Student's t and the normal distribution against scipy, and against themselves where scipy loses digits."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from rag.evaluation.statistics import student

FREEDOM = np.array([1, 1.0001, 1.5, 2, 3, 4, 7.3, 29, 57.7, 99, 199, 200, 201, 1234.5, 1e5, 1e6])[:, None]
TAILS = np.concatenate([np.geomspace(1e-12, 0.24, 40), [0.2499999, 0.25, 0.2500001, 0.4, 0.49]])
SHARES = np.concatenate([TAILS, 1 - TAILS])


def test_student_t_has_twelve_digits() -> None:
    quantiles = stdtrit(FREEDOM, SHARES)
    np.testing.assert_allclose(student.quantile(FREEDOM, SHARES), quantiles, rtol=1e-12, atol=0)
    np.testing.assert_allclose(student.cdf(FREEDOM, quantiles), stdtr(FREEDOM, quantiles), rtol=1e-12, atol=0)


def test_quantiles_near_the_middle_lead_back_to_their_shares() -> None:
    distances = np.geomspace(1e-15, 1e-2, 20)
    reached = student.cdf(FREEDOM, student.quantile(FREEDOM, 0.5 + distances)) - 0.5
    np.testing.assert_allclose(reached, np.broadcast_to(0.5 + distances - 0.5, reached.shape), rtol=1e-12, atol=3e-16)


def test_ends_and_what_has_no_value() -> None:
    values = [np.nan, np.inf, -np.inf, 0.0, 1e-300, 1e200]
    np.testing.assert_array_equal(student.cdf(5.0, values), [np.nan, 1, 0, 0.5, 0.5, 1])
    np.testing.assert_array_equal(student.cdf([0.0, -1.0, np.nan], 1.0), [np.nan] * 3)
    found = student.quantile([5.0, np.nan, -1.0, 0.0, 3.0, 3.0, 3.0], [0.5, 0.4, 0.3, 0.2, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(found, [0, np.nan, np.nan, np.nan, -np.inf, np.inf, np.nan])


def test_the_normal_distribution_has_twelve_digits() -> None:
    values = np.linspace(-37, 9, 200)
    np.testing.assert_allclose(student.normal_cdf(values), ndtr(values), rtol=1e-12, atol=0)
    assert [student.normal_quantile(share) for share in SHARES] == pytest.approx(ndtri(SHARES), rel=1e-12)
