"""Dominance by significant differences."""

import math

import numpy as np
import pytest
from scipy import stats

from rag.evaluation.statistics.pareto import Candidate, differences, dominated, front, not_slower

N = 80
ALONE = np.arange(N)
NOISE = np.random.default_rng(3).normal(0, 0.1, (N, 10))
EASY = np.random.default_rng(4).uniform(0.3, 0.7, N)


def candidate(
    name: str, quality: float = 0.0, ms: float = 10.0, cost: float = math.nan, size: float = 1.0, noise: int = 0
) -> Candidate:
    jitter = np.exp(np.random.default_rng(sum(map(ord, name))).normal(0, 0.05, 8))
    seconds = ms / 1000 * jitter
    values = EASY + quality + NOISE[:, noise] - NOISE[:, noise].mean()
    return Candidate(name, values, seconds, 1000 * float(np.percentile(seconds, 95)), cost, size)


def test_all_pairs_are_those_of_a_paired_t_test() -> None:
    values = EASY[:, None] + NOISE[:, :4] * [1, 2, 3, 4]
    mean, p = differences(values, ALONE)
    for one in range(4):
        for other in range(4):
            if one != other:
                oracle = stats.ttest_rel(values[:, one], values[:, other])
                assert p[one, other] == pytest.approx(oracle.pvalue)
                assert mean[one, other] == pytest.approx((values[:, one] - values[:, other]).mean())
    assert np.diag(p).tolist() == [1.0] * 4


def test_constant_differences_and_missing_values() -> None:
    constant = np.stack([np.zeros(6), np.full(6, 0.1)], axis=1)
    assert differences(constant, np.arange(6))[1][0, 1] == 2.0**-5
    assert np.isnan(differences(constant, np.zeros(6, np.int64))[1]).all()
    values = EASY[:, None] + NOISE[:, :3]
    values[::2, 0] = np.nan
    values[:, 2] = np.nan
    mean, p = differences(values, ALONE)
    assert p[0, 1] == pytest.approx(stats.ttest_rel(values[1::2, 0], values[1::2, 1]).pvalue)
    assert np.isnan(mean[2]).all()
    assert np.isnan(p[:, 2]).all()


def test_noise_dominates_no_trial() -> None:
    nearly = [candidate("a", 0.005, 10.0), candidate("b", 0.0, 10.1, noise=1)]
    assert front(nearly, ALONE) == {"a", "b"}
    random = np.random.default_rng(11)
    alike = [Candidate(str(row), EASY + random.normal(0, 0.1, N), np.empty(0), math.nan, math.nan, 1.0) for row in range(40)]
    assert len(front(alike, ALONE)) == 40


def test_speed_decides_between_equal_answers() -> None:
    slow = candidate("slow", ms=30.0)
    fast = candidate("fast", ms=10.0)
    twin = Candidate("twin", slow.quality, fast.seconds, fast.latency, slow.cost, slow.size)
    assert dominated([slow, twin], ALONE) == {"slow": "twin"}


def test_bytes_and_dollars_count_exactly() -> None:
    alike = [candidate("a", size=100.0), candidate("a", size=101.0)]
    second = Candidate("b", alike[1].quality, alike[0].seconds, alike[0].latency, math.nan, 101.0)
    assert dominated([alike[0], second], ALONE) == {"b": "a"}
    dear = Candidate("c", alike[0].quality, alike[0].seconds, alike[0].latency, 2.0, 100.0)
    cheap = Candidate("d", alike[0].quality, alike[0].seconds, alike[0].latency, 1.0, 100.0)
    assert dominated([dear, cheap], ALONE) == {"c": "d"}
    assert front([alike[0], dear], ALONE) == {"a", "c"}
    twin = candidate("a")
    assert front([twin, Candidate("b", twin.quality, twin.seconds, twin.latency, twin.cost, twin.size)], ALONE) == {"a", "b"}


def test_the_reported_dominator_is_the_best() -> None:
    field = [candidate("best", 0.3), candidate("good", 0.2, noise=1), candidate("bad", -0.2, 30.0, noise=2)]
    assert dominated(field, ALONE)["bad"] == "best"


@pytest.mark.filterwarnings("error")
def test_without_any_quality_nothing_is_comparable() -> None:
    nothing = Candidate("n", np.full(N, np.nan), np.empty(0), math.nan, math.nan, 1.0)
    assert front([nothing, candidate("a")], ALONE) == {"n", "a"}
    assert front([nothing, nothing], ALONE) == {"n"}


def test_pieces_give_the_same_result_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    values = np.round(random.random((N, 1)) + random.normal(0, 0.3, (N, 7)) + random.normal(0, 0.3, 7), 1)
    values[:, 6], values[2, 5] = np.nan, np.nan
    scales = random.integers(0, 3, (7, 2)).astype(float)
    field = [
        Candidate(str(row), values[:, row], random.exponential(1 + row, 20), 1.0 + row, *scales[row].tolist())
        for row in range(7)
    ]
    whole = dominated(field, ALONE)
    assert whole
    for at_once in (1, 2, 3):
        monkeypatch.setattr("rag.evaluation.statistics.pareto.AT_ONCE", at_once)
        assert dominated(field, ALONE) == whole


def test_trials_that_are_not_slower() -> None:
    fast, same, slow = (candidate(name, ms=ms).seconds for name, ms in (("f", 10.0), ("s", 10.2), ("z", 20.0)))
    assert not_slower([slow, same, fast], 2) == [1, 2]
    assert not_slower([fast[:1], slow[:1]], 0) == [0, 1]
    assert not_slower([fast], 0) == [0]
