"""The mix: closed forms, and a fit that sklearn agrees with where no sign binds."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rag.components.judges.mix import STRENGTH, fitted, mixed


def test_a_mix_is_the_logistic_of_its_odds() -> None:
    found = mixed(np.array([[1.0, 0.5]]), ("a", "b"), {"bias": -1.0, "a": 2.0, "b": -3.0})
    assert found[0] == pytest.approx(1 / (1 + math.exp(0.5)))


@pytest.fixture
def drawn() -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    random = np.random.default_rng(3)
    measures = random.random((400, 3))
    return measures, random.random(400) < 1 / (1 + np.exp(1 - 4 * measures[:, 0] + 3 * measures[:, 1]))


def test_the_fit_is_that_of_ridge_logistic_regression(drawn: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[type-arg]
    measures, labels = drawn[0][:, :2], drawn[1]
    found = fitted(measures, labels, {"a": 1, "b": -1}, np.ones(len(labels)))
    mean, spread = measures.mean(axis=0), measures.std(axis=0)
    oracle = LogisticRegression(C=STRENGTH, tol=1e-8).fit((measures - mean) / spread, labels)
    assert [found["a"], found["b"]] == pytest.approx((oracle.coef_[0] / spread).tolist(), abs=1e-3)
    assert found["bias"] == pytest.approx(float(oracle.intercept_[0] - oracle.coef_[0] / spread @ mean), abs=1e-3)


def test_signs_bind(drawn: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[type-arg]
    found = fitted(*drawn, {"a": -1, "b": 1, "c": 1}, np.ones(len(drawn[1])))
    assert found["a"] == found["b"] == 0.0
