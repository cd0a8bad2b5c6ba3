"""Tied sets that are known, planted winners, and what a holdout says of the trial that is taken."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rag.execution.sweep.selection import Entrant, Holdout, Mean, Rule, Winner, choose, decide, race

N = 60
ALONE = np.arange(N)
NOISE = np.random.default_rng(7).normal(0, 0.1, (N, 40))
EASY = np.random.default_rng(8).uniform(0.2, 0.8, N)


def entrant(name: str, values: np.ndarray | None, **known: float) -> Entrant:
    mean = math.nan if values is None else float(np.nanmean(values))
    return Entrant(name, f"trial {name}", values, None, Mean(mean), np.empty(0), **known)


def field(
    *entrants: Entrant,
    cluster: np.ndarray = ALONE,
    holdout: Holdout | None = None,
    sign: float = 1.0,
    rule: Rule | None = None,
) -> Winner:
    ordered = sorted(entrants, key=lambda one: -one.reached.mean)
    decision = decide(ordered, cluster, rule or Rule())
    span = (-1.0, 0.0) if sign < 0 else (0.0, 1.0)
    return choose(race(ordered, cluster), decision, cluster, holdout, sign, span=span)


def test_a_planted_winner_stands_alone() -> None:
    found = field(*(entrant(f"t{row}", EASY + (0.2 if row == 3 else 0) + NOISE[:, row]) for row in range(10)))
    assert (found.best, found.recommended, found.tied) == ("t3", "t3", ("t3",))
    assert found.why.startswith("It is the best by mean; the other 9 are shown to be worse, the next, trial t")
    assert found.family == 9
    assert all(one.behind.high < 0 for one in found.standings if one.behind and not one.tied)


def test_trials_that_answer_alike_are_one_comparison() -> None:
    values = [EASY + NOISE[:, row] for row in range(3)]
    found = field(*(entrant(f"{row}{copy}", values[row].copy()) for row in range(3) for copy in "abc"))
    assert found.family == 2
    twins = [one for one in found.standings if one.trial_id[0] == found.best[0]]
    assert [one.behind for one in twins] == [Mean(0.0, 0.0, 0.0)] * 3


def test_one_trial_needs_no_comparison() -> None:
    found = field(entrant("a", EASY))
    assert (found.best, found.recommended, found.tied, found.family) == ("a", "a", ("a",), 0)
    assert "only trial" in found.why


def test_nothing_can_be_compared_where_a_clock_decides() -> None:
    fast, slow = (replace(entrant(name, None, latency=ms), reached=Mean(ms)) for name, ms in (("fast", 3.0), ("slow", 9.0)))
    decision = decide([fast, slow], ALONE, Rule())
    found = choose(race([fast, slow], ALONE), decision, ALONE, sign=-1.0)
    assert (found.best, found.tied, found.family) == ("fast", ("fast",), 0)
    assert "cannot be tested" in found.why
    assert found.of("slow").behind is None


def pair(**of_the_worse: float) -> tuple[Entrant, Entrant]:
    """Two trials, the worse behind by .01 on every question."""
    return entrant("better", EASY, cost=2.0, size=2e6), entrant(
        "worse", EASY - 0.01, **{"cost": 1.0, "size": 2e6, **of_the_worse}
    )


def test_optimism_is_that_of_two_independent_means() -> None:
    tune, again = EASY + 0.1, EASY[:40] + NOISE[:40, 5]
    holdout = Holdout({"a": again}, np.arange(40), uses=2)
    found = field(entrant("a", tune), entrant("b", EASY), holdout=holdout)
    standing = found.of("a")
    oracle = stats.ttest_ind(tune, again, equal_var=False)
    interval = oracle.confidence_interval(0.95)
    np.testing.assert_allclose(
        [standing.optimism.mean, standing.optimism.low, standing.optimism.high],
        [tune.mean() - again.mean(), interval.low, interval.high],
    )
    n, alpha = again.mean() * (1 - again.mean()) / stats.sem(again) ** 2, 2 * stats.norm.sf(stats.t.ppf(0.975, 39))
    low, high = proportion_confint(again.mean() * n, n, alpha, "wilson")
    assert standing.holdout == Mean(pytest.approx(again.mean()), pytest.approx(low), pytest.approx(high))
    assert found.of("b").holdout is None
    assert (found.holdout, found.uses) == (True, 2)


WIDE = Rule(margin=0.1)


def test_the_recommended_trial_meets_the_best_on_the_holdout() -> None:
    better, worse = pair()
    again = Holdout({"better": EASY, "worse": EASY + 0.2}, ALONE, uses=1)
    found = field(better, worse, holdout=again, rule=WIDE)
    assert found.recommended == "worse"
    assert found.difference == Mean(pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2))
    assert field(better, worse, holdout=replace(again, values={"better": EASY}), rule=WIDE).difference is None
    assert field(better, holdout=again, rule=WIDE).difference is None


@pytest.mark.parametrize(("lost", "recommended"), [(0.05, "worse"), (0.15, "better")])
def test_a_holdout_refutes_a_loss_beyond_the_margin_alone(lost: float, recommended: str) -> None:
    """Both losses are shown; a margin of .1 allows the smaller one."""
    again = Holdout({"better": EASY, "worse": EASY - lost + NOISE[:, 3] / 10}, ALONE, uses=1)
    found = field(*pair(), holdout=again, rule=WIDE)
    assert found.recommended == recommended
    if recommended == "better":
        assert found.difference is None
        assert found.why.startswith(
            "It is the best by mean; trial worse, the cheapest of 1 that would do by tune, is worse on the"
        )
        assert found.why.endswith("more than the .100 that is allowed.")
