"""Which trial is taken: by margin, among equals, by exchange rates; and what is said where the questions cannot tell."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rag.execution.sweep.margin_reach import needed
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Decision, Entrant, Mean, Rule, Winner, choose, decide, race, rule

RANDOM = np.random.default_rng(5)
EASY = RANDOM.uniform(0.3, 0.7, 400)


def entrant(name: str, values: np.ndarray, **known: float) -> Entrant:
    return Entrant(name, f"trial {name}", values, None, Mean(float(np.nanmean(values))), np.empty(0), **known)


def timed(found: Entrant, milliseconds: float, spread: float = 0.05, seed: int = 0) -> Entrant:
    random = np.random.default_rng([seed, int(milliseconds * 1000)])
    seconds = milliseconds / 1000 * np.exp(random.normal(0, spread, 8))
    return replace(found, seconds=seconds, latency=1000 * float(np.percentile(seconds, 95)))


def decided(*entrants: Entrant, by: Rule | None = None, cluster: np.ndarray | None = None) -> tuple[Decision, Winner]:
    ordered = sorted(entrants, key=lambda one: -one.reached.mean)
    numbers = np.arange(len(ordered[0].values)) if cluster is None else cluster  # type: ignore[arg-type]
    decision = decide(ordered, numbers, by or Rule())
    return decision, choose(race(ordered, numbers), decision, numbers)


def shifted(mean: float, deviation: float, questions: int) -> np.ndarray:
    """Differences with an exact mean and deviation."""
    if not deviation:
        return np.full(questions, mean)
    drawn = np.random.default_rng(questions).normal(0, 1, questions)
    exact: np.ndarray = mean + deviation * (drawn - drawn.mean()) / drawn.std()
    return exact


def pair(questions: int = 400, behind: float = 0.01, deviation: float = 0.05, **of_the_worse: float) -> tuple[Entrant, Entrant]:
    values = EASY[:questions]
    worse = entrant("worse", values + shifted(-behind, deviation, questions), **{"cost": 2.0, "size": 2e6, **of_the_worse})
    return entrant("better", values, cost=2.0, size=2e6), worse


@pytest.mark.parametrize(("deviation", "tied"), [(0.28, {"better"}), (0.35, {"better", "worse"})])
def test_what_is_not_distinguished_is_not_taken_for_two_megabytes(deviation: float, tied: set[str]) -> None:
    """76 questions, .059 behind: one-sided p is .034 and .074. A tied trial is not shown to be as good."""
    better, worse = pair(76, 0.059, deviation, size=1e6)
    decision, found = decided(better, worse)
    assert set(found.tied) == tied
    assert found.recommended == "better"
    assert decision.unsettled.behind == pytest.approx(-0.059)
    assert math.isinf(decision.unsettled.needed)
    assert found.why.endswith(
        "No trial that is smaller is within .030 of it: trial worse (1.00 MB of indexes against 2.00 MB) is nearest, at -.059."
    )


def test_a_cheaper_trial_is_taken_where_it_is_shown_not_to_be_worse_by_the_margin() -> None:
    decision, found = decided(*pair(cost=1.0, size=9e6))
    assert (found.best, found.recommended, decision.saving) == ("better", "worse", "cost")
    assert -0.03 < decision.lowest < -0.01
    assert found.why == (
        "It is cheaper (1.0000 US dollars against 2.0000 US dollars) and shown not to be worse than the best by more than .030:"
        f" -.010 against the best by mean, -{abs(decision.lowest):.3f} at worst.".replace("-0.", "-.")
    )
    assert decided(*pair(cost=1.0), by=Rule(0.01))[1].recommended == "better"
    assert decided(*pair(cost=1.0), by=Rule(0.0))[1].recommended == "better"


def test_where_the_questions_cannot_say_it_says_how_many_would() -> None:
    decision, found = decided(*pair(100, 0.01, 0.2, cost=1.0))
    assert found.recommended == "better"
    low, needed = decision.unsettled.lowest, decision.unsettled.needed
    assert low < -0.03
    assert needed == pytest.approx(100 * ((0.01 + low) / 0.02) ** 2)
    assert f"may be worse by up to {-low:.3f}: about ".replace("0.", ".") in found.why
    assert found.why.endswith("questions would say whether by more than .030.")
    assert found.to_json()["unsettled"]["needed"] == round(needed)


def test_of_trials_with_the_same_mean_the_cheapest_is_taken() -> None:
    few = EASY[:40]
    decision, found = decided(*(entrant(name, few.copy(), cost=cost) for name, cost in (("a", 3.0), ("b", 1.0), ("c", 2.0))))
    assert (found.best, found.recommended, decision.among) == ("a", "b", 2)
    shares = "1.0000 US dollars against 3.0000 US dollars"
    assert found.why.startswith(
        f"By these questions its mean is that of the best, and it is the cheapest of those ({shares}); "
    )
    assert decision.lowest == pytest.approx(-(1 - 0.05 ** (1 / 40)), abs=0.02)
    assert f"; it may be worse by up to {-decision.lowest:.3f}.".replace("0.", ".") in found.why
    assert [one.p_best for one in found.standings] == pytest.approx([1 / 3] * 3)


def test_what_costs_nothing_is_cheaper_and_what_is_unknown_is_not() -> None:
    assert decided(*pair(cost=0.0))[1].recommended == "worse"
    assert decided(*pair(cost=math.nan))[1].recommended == "better"


def test_the_fastest_of_those_that_will_do_is_taken() -> None:
    better, worse = pair(size=9e6)
    bad = timed(entrant("bad", EASY - 0.3, cost=2.0), 1)
    decision, found = decided(timed(better, 40), timed(worse, 20), bad)
    assert (found.recommended, decision.saving, decision.among) == ("worse", "latency", 1)
    assert found.why.startswith("It is faster (p95 2")


def test_a_difference_in_speed_that_is_noise_decides_nothing() -> None:
    better, worse = pair(size=1e6)
    found = decided(timed(better, 20.1, 0.5, seed=3), timed(worse, 20, 0.5, seed=3))[1]
    assert found.recommended == "better"
    assert found.why.endswith("No other trial saves anything that was measured.")


PRICED = Objective.parse("", ["ndcg@10"])


@pytest.mark.parametrize(("rate", "recommended"), [("0.01 ndcg@10 = 50 ms", "better"), ("0.01 ndcg@10 = 10 ms", "worse")])
def test_an_exchange_rate_decides_by_what_trials_are_worth(rate: str, recommended: str) -> None:
    """.02 of quality against 30 ms: worth .006 at 50 ms for .01, .03 at 10 ms."""
    better, worse = pair(behind=0.02)
    better, worse = replace(better, latency=40.0), replace(worse, latency=10.0)
    decision, found = decided(better, worse, by=rule.parse({"exchange": rate}, {}, PRICED))
    assert found.recommended == recommended
    assert decision.worth["better"] - decision.worth["worse"] == pytest.approx(0.014 if recommended == "better" else -0.01)
    assert decision.allowed == pytest.approx(0 if recommended == "better" else 0.03)
    assert rate in found.why


def test_prices_in_dollars_are_those_of_a_thousand_questions() -> None:
    """2 dollars for 400 questions are 5 for 1,000: at .01 for 1 dollar that is .05."""
    better, worse = pair(behind=0.02, cost=0.0, size=0.0)
    decision, found = decided(better, worse, by=rule.parse({"exchange": "0.01 ndcg@10 = 1 usd"}, {}, PRICED))
    assert found.recommended == "worse"
    assert decision.worth["better"] == pytest.approx(float(EASY.mean()) - 0.05)
    sized = rule.parse({"exchange": "0.03 ndcg@10 = 2 MB"}, {}, PRICED)
    assert decided(better, worse, by=sized)[0].worth["better"] == pytest.approx(float(EASY.mean()) - 0.03)


def test_a_price_of_what_was_not_measured_decides_nothing() -> None:
    found = decided(*pair(), by=rule.parse({"exchange": "0.01 ndcg@10 = 50 ms"}, {}, PRICED))[1]
    assert found.recommended == "better"
    assert "was not measured of any trial" in found.why


@pytest.mark.parametrize("questions", [1, 30])
def test_one_question_or_one_cluster_tells_nothing_apart(questions: int) -> None:
    better, worse = pair(questions, deviation=0.0, cost=1.0)
    decision, found = decided(better, worse, cluster=np.zeros(questions, np.int64))
    assert (found.recommended, set(found.tied)) == ("better", {"better", "worse"})
    one = "Its questions are one cluster, so that nothing can be told apart: 30 questions in 20 clusters are the least."
    assert found.why == f"It is the best by mean. {one}"
    assert [one.p_best for one in found.standings] == [None, None]
    assert decision.lowest == 0.0
    smaller = replace(better, trial_id="smaller", name="smaller", cost=0.5)
    decision, found = decided(better, smaller, cluster=np.zeros(questions, np.int64))
    assert (found.recommended, found.enough) == ("smaller", False)
    assert found.why == f"It is the cheapest of those with the best mean. {one}"


def test_the_margin_of_a_sum_is_in_its_own_units() -> None:
    better, worse = pair(40, 0.001, 0.0, cost=1.0)
    one, two = (decide([better, worse], np.arange(40), Rule(0.2, span=span)) for span in (1.0, 4.0))
    assert (one.taken.trial_id, two.taken.trial_id) == ("worse", "better")


@pytest.mark.parametrize(("asked", "deviation"), [(100, 0.2), (200, 0.1)])
def test_a_cheaper_trial_that_is_as_good_is_taken_from_as_many_questions_as_a_plan_says(asked: int, deviation: float) -> None:
    values = [EASY[:asked], EASY[:asked] + shifted(0, deviation, asked)]
    number, easier = (needed(values, np.arange(asked), Rule(margin)) for margin in (0.03, 0.06))
    taken = [decided(*pair(round(share * number), 1e-6, deviation, cost=1.0))[1].recommended for share in (0.7, 1.4)]
    assert taken == ["better", "worse"]
    assert (easier, needed([EASY], np.arange(400), Rule())) == (pytest.approx(number / 4), None)
