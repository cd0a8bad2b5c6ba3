"""Paired differences against scipy and statsmodels, closed forms, and the claimed error rates."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from rag.evaluation.statistics import pareto, resampling
from rag.evaluation.statistics.paired import Family, family

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COARSE = st.integers(-4, 4).map(lambda number: number / 4)


def tables(most_rows: int = 40, most_columns: int = 4) -> st.SearchStrategy[Floats]:
    shape = st.tuples(st.integers(2, most_rows), st.integers(1, most_columns))
    return shape.flatmap(lambda size: arrays(np.float64, size, elements=COARSE))


def alone(differences: Floats) -> Family:
    """Every question its own cluster."""
    return family(differences, np.arange(len(differences)))


def clustered(random: np.random.Generator, sizes: Ints, columns: int, share: float = 0.5) -> tuple[Floats, Ints]:
    """Differences with mean 0; the questions of a cluster have a `share` of the variance in common."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    common = random.normal(0, np.sqrt(share), (len(sizes), columns))
    return common[cluster] + random.normal(0, np.sqrt(1 - share), (len(cluster), columns)), cluster


# Other libraries


def flipped(sums: Floats, resamples: float = np.inf) -> float:
    """The p-value of scipy's paired permutation test: swapping a pair changes the sign of its difference."""

    def statistic(one: Floats, other: Floats, axis: int) -> Floats:
        return np.asarray((one - other).sum(axis=axis))

    result = stats.permutation_test(
        (sums, np.zeros_like(sums)), statistic, permutation_type="samples", n_resamples=resamples, vectorized=True, rng=1
    )
    return float(result.pvalue)


@given(arrays(np.float64, st.integers(2, 9), elements=COARSE))
@settings(max_examples=60, deadline=None)
def test_exact_sign_flips_are_scipys_paired_permutation_test(sums: Floats) -> None:
    assert resampling.sign_flip(sums[:, None])[0][0] == pytest.approx(flipped(sums), abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8])
def test_drawn_sign_flips_are_scipys_within_sampling_error(shift: float) -> None:
    sums = np.random.default_rng(2).normal(shift, 1, 16)
    exact = flipped(sums)
    result = resampling.sign_flip(sums[:, None], 20_000)[0][0]
    assert result == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000)


@pytest.mark.parametrize("sizes", [np.full(40, 1), np.full(25, 4)], ids=["single", "equal"])
def test_intervals_are_students_t_over_means_of_clusters(sizes: Ints) -> None:
    differences, cluster = clustered(np.random.default_rng(4), sizes, 1)
    means = differences.reshape(len(sizes), -1).mean(axis=1)
    expected = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    result = family(differences, cluster, span=9.0)
    np.testing.assert_allclose([result.low[0], result.high[0]], [expected.low, expected.high])


@given(tables(9, 4))
@settings(max_examples=40, deadline=None)
def test_step_down_is_that_of_the_definition(sums: Floats) -> None:
    scale = np.sqrt((sums**2).sum(axis=0))
    unit = sums / np.where(scale > 0, scale, 1)
    flips = np.array(list(itertools.product([1, -1], repeat=len(sums))))
    drawn, seen = np.abs(flips @ unit), np.abs(unit.sum(axis=0))
    expected, before = np.empty(len(seen)), 0.0
    for place, column in enumerate(order := np.argsort(-seen.round(9), kind="stable")):
        before = max(before, float((drawn[:, order[place:]].max(axis=1) >= seen[column] - 1e-9).mean()))
        expected[column] = before
    np.testing.assert_allclose(resampling.sign_flip(sums)[1], expected, atol=1e-12)


@pytest.mark.parametrize("count", [2, 40])
def test_independent_columns_hold_together_at_sidaks_level(count: int) -> None:
    random = np.random.default_rng(21)
    level = resampling.joint_level(random.normal(0, 1, (400, count)), np.ones((400, count)), 0.05)
    assert level == pytest.approx(1 - 0.95 ** (1 / count), rel=0.15)


def test_holms_correction_is_that_of_statsmodels() -> None:
    p = np.random.default_rng(22).uniform(0, 0.2, 30)
    np.testing.assert_allclose(pareto.holm(p), multipletests(p, method="holm")[1], atol=1e-12)


def test_the_standard_error_is_that_of_leaving_out_a_cluster() -> None:
    differences, cluster = clustered(np.random.default_rng(5), np.arange(1, 11), 2)
    differences[:7, 1] = np.nan
    result = family(differences, cluster)
    for column in range(2):
        values, names = differences[~np.isnan(differences[:, column]), column], cluster[~np.isnan(differences[:, column])]
        kept = [values[names != name].mean() for name in np.unique(names)]
        expected = np.sqrt(((np.array(kept) - values.mean()) ** 2).sum() * (len(kept) - 1) / len(kept))
        assert result.error[column] == pytest.approx(expected)
        assert result.clusters[column] == len(kept)


# By hand


def test_sums_that_differ_in_their_last_bits_count_as_equal() -> None:
    tenths = np.array([0.1, 0.2, 0.3, -0.3, 0.1, 0.2, 0.7])
    p, _ = resampling.sign_flip(np.stack([tenths, np.round(tenths * 10)], axis=1))
    assert p[0] == p[1]


def test_counts_effect_and_mean() -> None:
    result = alone(np.array([[0.5, np.nan], [-0.25, 0.5], [0.0, np.nan], [0.25, 0.5]]))
    assert result.n.tolist() == [4, 2]
    assert result.mean.tolist() == [0.125, 0.5]
    assert (result.wins.tolist(), result.ties.tolist(), result.losses.tolist()) == ([2, 2], [1, 0], [1, 0])
    assert result.effect[0] == pytest.approx(0.125 / np.std([0.5, -0.25, 0, 0.25], ddof=1))
    assert np.isnan(result.effect[1])


def test_a_column_without_values_is_nan_and_does_not_affect_others() -> None:
    differences = np.random.default_rng(7).normal(0.3, 1, (30, 2))
    result = family(np.insert(differences, 1, np.nan, axis=1), np.arange(30))
    expected = family(differences, np.arange(30))
    for name in ("mean", "low", "high", "corrected_low", "p", "p_adjusted", "effect", "error", "detectable", "needed"):
        column = getattr(result, name)
        assert np.isnan(column[1]), name
        np.testing.assert_array_equal(column[[0, 2]], getattr(expected, name), err_msg=name)
    assert result.n[1] == result.clusters[1] == result.wins[1] == result.ties[1] == result.losses[1] == 0
    assert not result.significant[1]


def test_one_cluster_one_column_no_difference_and_no_data() -> None:
    result = family(np.full((20, 1), 0.5), np.zeros(20, np.int64))
    assert (result.mean, result.p, result.p_adjusted) == (0.5, 1.0, 1.0)
    assert np.isnan([result.low, result.high, result.corrected_low, result.error, result.detectable]).all()
    assert not result.significant[0]
    single = alone(np.random.default_rng(6).normal(0.2, 1, (50, 1)))
    assert (single.size, single.p_adjusted) == (1, single.p)
    assert (single.corrected_low, single.corrected_high) == (single.low, single.high)
    equal = alone(np.zeros((20, 2)))
    expected = {"mean": 0, "low": 0, "high": 0, "p": 1, "p_adjusted": 1, "effect": 0, "error": 0, "needed": np.inf, "ties": 20}
    assert {name: getattr(equal, name).tolist() for name in expected} == {name: [at, at] for name, at in expected.items()}
    assert family(np.zeros((0, 2)), np.zeros(0, np.int64)).n.tolist() == [0, 0]
    assert family(np.zeros((5, 0)), np.arange(5)).size == 0


@pytest.mark.parametrize("clusters", range(2, 9))
def test_equal_losses_are_significant_from_six_clusters_on(clusters: int) -> None:
    result = family(np.full((clusters * 3, 1), -0.5), np.repeat(np.arange(clusters), 3))
    assert result.p[0] == 2.0 ** (1 - clusters)
    assert result.significant[0] == (clusters >= 6)
    for low, high in ((result.low, result.high), (result.corrected_low, result.corrected_high)):
        assert low[0] == -0.5
        assert high[0] == (-0.5 if clusters >= 6 else 0.0)


def test_a_detectable_difference_is_detected_in_four_of_five_tries() -> None:
    random, tries, n = np.random.default_rng(8), 1_000, 40
    noise = random.normal(0, 1, (n, tries))
    result = alone(noise[:, :1])
    assert result.detectable == pytest.approx((stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) * result.error)
    truly = (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) / np.sqrt(n)
    hits = (resampling.sign_flip(noise + truly, 2_000)[0] <= 0.05).mean()
    assert hits == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / tries))
    # Unequal clusters have fewer degrees of freedom.
    differences, cluster = clustered(np.random.default_rng(17), np.r_[30, np.full(9, 3)], 1)
    freedom = 57**2 / (30**2 + 9 * 3**2) - 1
    result = family(differences, cluster)
    assert result.detectable == pytest.approx((stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)) * result.error)


def test_the_needed_number_of_questions_grows_with_the_square() -> None:
    noise = np.random.default_rng(9).normal(0, 1, (50, 1))
    noise -= noise.mean()
    half = alone(noise).detectable / 2
    assert alone(noise + half).needed == pytest.approx(4 * 50, rel=1e-9)
    assert alone(noise).needed[0] > 1e9


# Properties


@given(tables(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_corrected_interval_contains_the_single_one_and_agrees_with_its_p_value(
    differences: Floats, data: st.DataObject
) -> None:
    result = family(differences, drawn_clusters(data, len(differences)))
    known = ~np.isnan(result.low)
    assert (result.corrected_low <= result.low)[known].all()
    assert (result.corrected_high >= result.high)[known].all()
    np.testing.assert_array_equal((result.corrected_low > 0) | (result.corrected_high < 0), result.significant & known)
    np.testing.assert_array_equal((result.low > 0) | (result.high < 0), (result.p <= 0.05) & known)
    assert (result.low <= result.mean + 1e-12)[known].all()
    assert (result.high >= result.mean - 1e-12)[known].all()


def drawn_clusters(data: st.DataObject, n: int) -> Ints:
    numbers = data.draw(arrays(np.int64, n, elements=st.integers(0, n - 1)))
    return np.unique(numbers, return_inverse=True)[1]


# Error rates

TRIES = 250


def at_most(rate: float, tries: int = TRIES) -> float:
    """The greatest share that a true rate gives in so many tries, exceeded once in a thousand."""
    return float(stats.binom.ppf(0.999, tries, rate) / tries)


@pytest.mark.parametrize("clusters", [2, 3, 5, 6, 7, 10, 13, 20])
def test_few_clusters_raise_no_false_alarms(clusters: int) -> None:
    random = np.random.default_rng(clusters)
    for sizes in (np.full(clusters, 5), np.r_[25, np.full(clusters - 1, 3)]):
        differences, cluster = clustered(random, sizes, TRIES)
        sums = resampling.by_cluster(differences, cluster, clusters)
        p, _ = resampling.sign_flip(sums, 2_000)
        assert (p <= 0.05).mean() <= at_most(0.05)
        result = family(differences[:, :100], cluster)
        assert ((result.low > 0) | (result.high < 0)).mean() <= at_most(0.05, 100)


def splits(random: np.random.Generator, shift: float = 0.0) -> tuple[Floats, Ints]:
    """A family of 3 metrics, over all and in 3 kinds, of two trials that differ by `shift`; 24 documents."""
    cluster = np.repeat(np.arange(24), random.integers(1, 8, 24))
    common = random.normal(0, 0.1, (24, 3))[cluster] + random.normal(0, 0.1, (len(cluster), 1))
    metrics = np.clip(np.round(common + random.normal(0, 0.15, common.shape), 1), -1, 1) + shift
    kind = random.integers(0, 3, len(cluster))
    parts = [metrics, *(np.where((kind == number)[:, None], metrics, np.nan) for number in range(3))]
    return np.concatenate(parts, axis=1), cluster


def test_comparisons_of_equal_trials_have_the_claimed_error_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "DRAWS", 2_000)
    random = np.random.default_rng(12)
    single_p, single_interval, any_of_family, careless = 0, 0, 0, 0
    for _ in range(TRIES):
        differences, cluster = splits(random)
        result = family(differences, cluster)
        single_p += int(result.p[0] <= 0.05)
        single_interval += int(result.low[0] > 0 or result.high[0] < 0)
        wrong = (result.corrected_low > 0) | (result.corrected_high < 0) | result.significant
        any_of_family += int(wrong.any())
        careless += int(abs(stats.ttest_1samp(differences[:, 0], 0).statistic) > 1.96)
    assert single_p / TRIES <= at_most(0.05)
    assert single_interval / TRIES <= at_most(0.05)
    assert any_of_family / TRIES <= at_most(0.05)
    # A test that ignores clusters has more than twice the error rate on the same data.
    assert careless / TRIES > 0.1
    assert single_p / TRIES > 0.02
