"""Two judges about the same answers, against scipy, and in a sweep that asks both."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from support.command_line import Verb, verb
from support.gate_experiment import write_gated

from rag.evaluation.statistics.agreement import RankCorrelation, Resampled

rag = pytest.fixture(verb)
ONCE = np.ones((1, 60))
AXES = """\
  judge:
    trusting: judge.weights.bias=3.0
    doubting: judge.weights.bias=-6.0"""
HELD = ', generator=extractive, generator.floor=0, "metrics=[ndcg@10,faithfulness]", "~judge.encoder.runtime"'
WORDS = ', "judge.encoder._target_=support.judge_texts.WordEncoder"'


@pytest.fixture
def scores() -> tuple[Any, Any]:
    random = np.random.default_rng(2)
    first = np.round(random.random(60), 1)
    return first, np.round(0.5 * first + 0.5 * random.random(60), 1)


def test_rank_correlations_are_those_of_scipy(scores: tuple[Any, Any]) -> None:
    for name, known in (("spearman", spearmanr), ("kendall", kendalltau)):
        assert RankCorrelation(*scores, name)(ONCE) == pytest.approx([known(*scores).statistic])
        assert math.isnan(RankCorrelation(scores[0], np.ones(60), name)(ONCE)[0]), "one value for all orders nothing"


def test_weights_are_repetitions(scores: tuple[Any, Any]) -> None:
    weights = np.random.default_rng(3).integers(0, 3, (4, 60)).astype(np.float64)
    repeated = [[np.repeat(values, row.astype(int)) for values in scores] for row in weights]
    found = RankCorrelation(*scores, "spearman")(weights)
    assert found == pytest.approx([spearmanr(*pair).statistic for pair in repeated])
    assert RankCorrelation(*scores, "kendall")(weights) == pytest.approx([kendalltau(*pair).statistic for pair in repeated])


def test_pairs_may_be_counted_by_cluster(scores: tuple[Any, Any]) -> None:
    clusters = [str(number % 7) for number in range(60)]
    drawn = Resampled(clusters, 200)
    plain, grouped = (drawn.values(RankCorrelation(*scores, "kendall", by)) for by in (None, clusters))
    assert grouped == pytest.approx(plain)


def test_a_sweep_says_how_far_its_judges_agree(rag: Verb, here: Path, golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
    write_gated(Path("study.yaml"), golden, AXES, "", HELD + WORDS)
    swept = rag("sweep", "study.yaml", "--no-track")
    assert swept.code == 0
    assert "trusting and doubting on faithfulness of 5 answers: Spearman" in swept.out.replace("\n", " ")
    assert "LocalJudge has no calibration card" in swept.out.replace("\n", " ")
    (found,) = rag("judge", "agree", "study.yaml", "--json").json["agreement"]
    assert found["judges"] == ["trusting", "doubting"]
    assert found["kappa"].keys() == {"value", "low", "high"}
    assert rag("report", "study.yaml").code == 0
    text = Path("reports/study/report.md").read_text("utf-8")
    assert "trusting and doubting agree on the faithfulness of 5 answers by Spearman" in text


def test_without_two_judges_nothing_agrees(rag: Verb, here: Path, golden: Path) -> None:
    write_gated(Path("study.yaml"), golden, AXES, "", HELD + WORDS)
    alone = rag("judge", "agree", "study.yaml", "metrics=[ndcg@10]")
    assert alone.code == 2
    assert "no two judges judged the same answers" in alone.err
