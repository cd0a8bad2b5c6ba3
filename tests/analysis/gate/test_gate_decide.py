"""Verdicts from intervals, rows from scores, and how often a gate finds a loss."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.analysis.gate.decide import Pair, decide, paired
from rag.analysis.gate.finding import FAIL, INCONCLUSIVE, PASS, needed_for, verdict_of
from rag.analysis.gate.power import power, power_in_words, row_power
from rag.analysis.gate.spec import Margin
from rag.core.types import Document, Example, Query
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.paired import family
from rag.execution.sweep.trial_scores import Result, question_digest

NAN = math.nan


@pytest.mark.parametrize(
    ("interval", "margin", "verdict", "why"),
    [
        ((0.0, -0.02, 0.02), 0.02, PASS, "no change"),
        ((0.001, -0.02, 0.02), 0.02, PASS, "inside the margin"),
        ((0.03, 0.01, 0.05), 0.0, PASS, "better"),
        ((-0.02, -0.03, -0.01), 0.03, PASS, "worse, but inside the margin"),
        ((-0.02, -0.031, -0.01), 0.03, FAIL, "worse, and more than the margin may be lost"),
        ((-0.02, -0.04, 0.0), 0.03, INCONCLUSIVE, "may be worse by more than the margin, or not"),
        ((-0.05, -0.11, 0.01), 0.03, INCONCLUSIVE, "may be worse by more than the margin, or not"),
        ((0.0, -0.04, 0.04), 0.03, INCONCLUSIVE, "may be worse by more than the margin, or not"),
    ],
)
def test_the_three_verdicts(interval: tuple[float, float, float], margin: float, verdict: str, why: str) -> None:
    finding = verdict_of(interval, margin, 100, 100, trusted=True)
    assert (finding.verdict, finding.why) == (verdict, why)


@given(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.9), st.integers(1, 500), st.booleans())
def test_every_interval_has_one_verdict(d: float, down: float, up: float, margin: float, n: int, trusted: bool) -> None:
    low, high = d - down, d + up
    found = verdict_of((d, low, high), margin, n, n, trusted)
    if found.verdict == FAIL:
        assert high < 0
        assert low < -margin
    elif found.verdict == PASS:
        assert trusted
        assert low >= -margin - 1e-8
    else:
        assert not trusted or (high >= 0 and low < -margin)
    assert (found.needed is None) or (found.verdict == INCONCLUSIVE and found.needed > 0)


def test_the_needed_number_is_that_of_the_nearer_verdict() -> None:
    # Half-width .04 at 100 questions. FAIL needs .01: 16 times as many. PASS within .03 needs .02: 4 times.
    assert needed_for((-0.01, -0.05, 0.03), 0.03, 100) == 400
    # FAIL is nearer with a loss of .025.
    assert needed_for((-0.025, -0.065, 0.015), 0.03, 100) == math.ceil(100 * (0.04 / 0.025) ** 2)
    # A gain can only pass.
    assert needed_for((0.01, -0.05, 0.07), 0.03, 100) == math.ceil(100 * (0.06 / 0.04) ** 2)
    # The wider side counts, and the least is one question more.
    assert needed_for((-0.03, -0.04, 0.0), 0.035, 100) == 101
    assert needed_for((0.0, -0.04, 0.04), 0.0, 100) is None
    assert needed_for((-0.01, NAN, NAN), 0.03, 1) is None


def test_too_few_clusters_cannot_pass_but_can_fail() -> None:
    open_row = verdict_of((0.0, -0.02, 0.02), 0.03, 12, 6, trusted=False)
    assert (open_row.verdict, open_row.needed) == (INCONCLUSIVE, 20)
    # Without variation the number is unknown.
    assert verdict_of((0.0, 0.0, 0.0), 0.03, 12, 6, trusted=False).needed is None
    assert open_row.why == "too few questions: 12 questions in 6 clusters, and 10 clusters are the least"
    assert verdict_of((-0.5, -0.6, -0.4), 0.03, 12, 6, trusted=False).verdict == FAIL
    assert verdict_of((NAN, NAN, NAN), 0.03, 0, 0, trusted=False).why == "no question has a value"


def golden(n: int, per_cluster: int = 1) -> Golden:
    examples = [
        Example(Query(f"q{row}", f"Number {row}?"), kind="even" if row % 2 == 0 else "odd", cluster=f"c{row // per_cluster}")
        for row in range(n)
    ]
    return Golden((Document("d", "text"),), tuple(examples))


def result(made: Golden, **columns: Any) -> Result:
    ids = tuple(example.query.query_id for example in made.examples)
    values = np.column_stack([np.asarray(values, np.float64) for values in columns.values()])
    scores = Scores(ids, tuple(columns), values, np.zeros(len(ids), np.bool_))
    return Result("t", "t", {}, {}, scores, {e.query.query_id: question_digest(e) for e in made.examples}, {})


def pair_of(made: Golden, base: Any, candidate: Any) -> Pair:
    return paired(result(made, m=base), result(made, m=candidate), made, ["m"])


def test_a_row_reads_as_the_family_says() -> None:
    made, chance = golden(80, per_cluster=2), np.random.default_rng(3)
    base = chance.uniform(0.4, 1, 80)
    candidate = np.clip(base - chance.normal(0.1, 0.1, 80), 0, 1)
    pair = pair_of(made, base, candidate)
    assert len(np.unique(pair.cluster)) == 40
    rows = decide(pair, [Margin("m", "", 0.03), Margin("m", "kind", 0.05)])
    assert [row.slice for row in rows] == ["", "kind=even", "kind=odd"]
    differences = np.round(candidate, 6) - np.round(base, 6)
    odd = np.arange(80) % 2 == 1
    expected = family(
        np.column_stack([differences, np.where(odd, np.nan, differences), np.where(odd, differences, np.nan)]), pair.cluster
    )
    assert rows[0].verdict == FAIL
    for number, row in enumerate(rows):
        assert row.low == pytest.approx(expected.corrected_low[number], abs=1e-6)
        assert row.high == pytest.approx(expected.corrected_high[number], abs=1e-6)
        assert row.difference == pytest.approx(expected.mean[number], abs=1e-6)
        assert (row.n, row.clusters) == (expected.n[number], expected.clusters[number])


def test_a_slice_without_an_interval_does_not_affect_others() -> None:
    made, chance = golden(60), np.random.default_rng(4)
    base, candidate = chance.uniform(0, 1, (2, 60))
    alone = decide(pair_of(made, base, candidate), [Margin("m", "", 0.03)])
    examples = (*made.examples[:-1], Example(Query("q59", "Number 59?"), kind="single", cluster="c59"))
    with_one = Golden(made.documents, examples)
    both = decide(pair_of(with_one, base, candidate), [Margin("m", "", 0.03), Margin("m", "kind=single", 0.03)])
    assert (both[0].low, both[0].high) == (alone[0].low, alone[0].high)
    assert (both[1].n, both[1].low, both[1].verdict) == (1, None, INCONCLUSIVE)


def test_an_unchanged_column_passes_in_small_slices_too() -> None:
    made = golden(30)
    scores = np.linspace(0, 1, 30)
    tags = Golden(
        made.documents, (*(Example(e.query, kind="big", cluster=e.cluster) for e in made.examples[3:]), *made.examples[:3])
    )
    same = decide(pair_of(tags, scores, scores), [Margin("m", "kind", 0.03)])
    assert {row.verdict for row in same} == {PASS}
    moved = scores.copy()
    moved[0] += 0.01
    few = {row.slice: row.verdict for row in decide(pair_of(tags, scores, moved), [Margin("m", "kind", 0.03)])}
    assert few == {"kind=big": PASS, "kind=even": INCONCLUSIVE, "kind=odd": INCONCLUSIVE}


def test_equal_rounded_missing_and_advisory_scores() -> None:
    assert decide(pair_of(golden(2), [0.1, 0.2], [0.1, 0.2]), [Margin("m", "", 0.0)], same=True)[0].verdict == PASS
    (row,) = decide(pair_of(golden(40), np.full(40, round(1 / 3, 6)), np.full(40, 1 / 3)), [Margin("m", "", 0.0)])
    assert (row.verdict, row.difference) == (PASS, 0.0), "digits that a baseline does not store do not count"
    (row,) = decide(pair_of(golden(20), np.full(20, NAN), np.full(20, NAN)), [Margin("m", "", 0.0)])
    assert (row.verdict, row.why, row.base) == (INCONCLUSIVE, "no question has a value", None)
    (row,) = decide(pair_of(golden(40), np.ones(40), np.zeros(40)), [Margin("m", "", 0.03)], advisory=["m"])
    assert (row.verdict, row.label, row.advisory) == (FAIL, "WARN", True)


def test_a_column_of_answers_compares_questions_that_both_answered() -> None:
    base, now = np.full(20, 0.5), np.full(20, 0.5)
    base[3], now[4:7] = np.nan, np.nan
    pair = pair_of(golden(20), base, now)
    assert int((~np.isnan(pair.differences)).sum()) == 16
    assert np.isnan(pair.base[3:7]).all()
    assert np.isnan(pair.candidate[3:7]).all()


TRIES = 1500


@pytest.mark.parametrize(
    ("n", "groups", "spread", "together", "margin"),
    [
        (30, 30, 0.12, 0.0, 0.02),
        (80, 80, 0.2, 0.0, 0.0),
        (96, 12, 0.12, 0.3, 0.02),
        (60, 20, 0.25, 0.2, 0.05),
        (48, 5, 0.01, 0, 0.02),
    ],
)
def test_the_stated_power_is_that_of_the_verdicts(n: int, groups: int, spread: float, together: float, margin: float) -> None:
    chance, cluster, loss = np.random.default_rng(n), np.arange(n) % groups, max(0.05, 2 * margin)
    own, shared = chance.standard_normal((n, TRIES)), chance.standard_normal((groups, TRIES))[cluster]
    # Each try is a column with an interval of its own.
    tries = family(-loss + spread * (np.sqrt(1 - together) * own + np.sqrt(together) * shared), cluster, np.inf)
    failed = ((tries.high < 0) & (tries.low < -margin)).mean()
    error = spread * np.sqrt(((1 - together) + together * n / groups) / n)
    assert power(error, np.bincount(cluster).astype(np.float64), 0.05, loss) == pytest.approx(failed, abs=0.03)


@pytest.mark.parametrize(("n", "groups"), [(100, 100), (200, 25), (400, 400)])
def test_a_loss_of_whole_questions_is_found_as_stated_where_nothing_differs_today(n: int, groups: int) -> None:
    chance, base, cluster = np.random.default_rng(2), np.resize([1.0, 0.5, 1.0, 0.0], n), np.arange(n) % groups
    loss, stated = row_power(base, cluster, 0.02, np.nan, 0.05, 1.0)
    tries = family(-base[:, None] * (chance.uniform(size=(n, TRIES)) < loss / base.mean()), cluster)
    assert stated == pytest.approx(((tries.high < 0) & (tries.low < -0.02)).mean(), abs=0.03)
    assert row_power(base - 1, cluster, 0.02, np.nan, 0.05, 1.0)[1] > 0, "shares of which less is better"
    assert np.isnan(row_power(base / 20, cluster, 0.02, np.nan, 0.05, 1.0)[1]), "they cannot lose as much"
    assert power_in_words([("m", loss, 0.921), ("n", loss, None)]) == "Finds a loss of .05 in 92 % of tries (m)."
