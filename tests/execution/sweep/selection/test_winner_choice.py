"""Tied sets that are known, planted winners, and what a holdout says of the trial that is taken."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rag.core.figures import figure
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
    elsewhere: Sequence[np.ndarray] = (),
) -> Winner:
    ordered = sorted(entrants, key=lambda one: -one.reached.mean)
    decision = decide(ordered, cluster, rule or Rule())
    span = (-1.0, 0.0) if sign < 0 else (0.0, 1.0)
    return choose(race(ordered, cluster), decision, cluster, holdout, sign, span=span, elsewhere=elsewhere)


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


def test_the_mean_on_the_holdout_has_its_own_interval() -> None:
    again = EASY[:40] + NOISE[:40, 5]
    found = field(entrant("a", EASY + 0.1), entrant("b", EASY), holdout=Holdout({"a": again}, np.arange(40), uses=2))
    n, alpha = again.mean() * (1 - again.mean()) / stats.sem(again) ** 2, 2 * stats.norm.sf(stats.t.ppf(0.975, 39))
    low, high = proportion_confint(again.mean() * n, n, alpha, "wilson")
    assert found.of("a").holdout == Mean(pytest.approx(again.mean()), pytest.approx(low), pytest.approx(high))
    assert found.of("b").holdout is None
    assert (found.holdout, found.uses, found.contradiction) == (True, 2, "")


WIDE = Rule(margin=0.1)


@pytest.mark.parametrize(("lost", "recommended"), [(0.05, "worse"), (0.15, "better")])
def test_a_holdout_refutes_a_loss_beyond_the_margin_alone(lost: float, recommended: str) -> None:
    """Both losses are shown; a margin of .1 allows the smaller one."""
    again = Holdout({"better": EASY, "worse": EASY - lost + NOISE[:, 3] / 10}, ALONE, uses=1)
    found = field(*pair(), holdout=again, rule=WIDE)
    assert found.recommended == recommended
    assert bool(found.contradiction) == (recommended == "better") == (found.expected is None)


@pytest.mark.parametrize(("there", "recommended", "said"), [(0.06, "b", "trial b is best"), (0.02, "a", "trial a is best")])
def test_where_the_holdout_contradicts_the_best_both_halves_decide(there: float, recommended: str, said: str) -> None:
    """On 60 questions `a` leads by .04, on 60 others `b` by .06 or .02; `c` is last on both."""
    a, b, c = (entrant("abc"[row], EASY + lead + NOISE[:, row] / 20) for row, lead in enumerate((0.14, 0.1, 0)))
    again = {"a": EASY, "b": EASY + there, "c": EASY - 0.1}
    found = field(a, b, c, holdout=Holdout(again, ALONE, uses=1))
    assert (found.best, found.recommended) == ("a", recommended)
    assert found.contradiction.startswith("The holdout does not confirm the choice by tune: trial a is number 2 of 3 there, .")
    lead = figure(abs(a.values.mean() - b.values.mean() - there) / 2, signed=True)
    assert f"on both together {said}, ." in found.contradiction
    assert f", {lead} [" in found.contradiction
    assert not field(a, b, c, holdout=Holdout(again | {"a": EASY + 0.2}, ALONE, uses=1)).contradiction
    assert not field(a, b, c, holdout=Holdout({"b": EASY}, ALONE, uses=1)).contradiction


def test_what_a_choice_is_worth_is_estimated_with_all_that_was_looked_at() -> None:
    tried = [EASY + NOISE[:, row] * 3 for row in range(30)]
    few = [entrant(f"t{row}", values) for row, values in enumerate(tried[:2])]
    best = max(one.reached.mean for one in few)
    alone, all_seen, worse = field(*few), field(*few, elsewhere=tried[2:]), sum(one.mean() <= best for one in tried[2:])
    assert (alone.among, alone.before, all_seen.among, all_seen.before) == (2, 0, 2 + worse, worse)
    assert all_seen.expected.mean < alone.expected.mean < best
    assert ", 1 of them of other sweeps)" in field(*few, elsewhere=[EASY - 0.1]).expectation("ndcg@10")
    assert Winner.from_json(all_seen.to_json()).expected.mean == all_seen.expected.mean
    turned = field(*(replace(one, values=one.values - 1) for one in few), sign=-1.0).expected
    assert (turned.mean, turned.low < turned.mean < turned.high) == (pytest.approx(1 - alone.expected.mean), True)


def test_where_nothing_can_be_estimated_there_is_no_figure() -> None:
    alike = field(entrant("a", EASY), entrant("b", EASY.copy()))
    assert alike.why.endswith("All trials have the same scores: what the choice is worth cannot be estimated.")
    one, short = field(entrant("a", EASY)), field(entrant("a", EASY[:20]), entrant("b", EASY[:20] / 2), cluster=ALONE[:20])
    assert {found.expectation("ndcg@10") for found in (alike, one, short)} == {""}
