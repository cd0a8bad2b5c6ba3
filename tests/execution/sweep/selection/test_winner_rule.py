"""`recommend:` of an experiment: what is read, and what is refused before anything runs."""

from pathlib import Path

import pytest
from support.small_set import write_experiment, write_golden

from rag.config.experiment import load
from rag.core.errors import ConfigError
from rag.execution.sweep import sweep
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import rule
from rag.execution.sweep.selection.rule import MARGIN, Price, Rule

COLUMNS = ("ndcg@10", "recall@5", "faithfulness")


def parsed(raw: dict[str, object], gate: dict[str, object] | None = None, objective: str = "") -> Rule:
    return rule.parse(raw, gate or {}, Objective.parse(objective, COLUMNS))


def test_the_margin_is_the_given_one_or_that_of_the_gate_or_three_hundredths() -> None:
    assert parsed({}).margin == MARGIN == 0.03
    assert parsed({}, {"metrics": {"ndcg@10": 0.05}}).margin == 0.05
    assert parsed({}, {"metrics": {"ndcg@10": {"margin": 0.04, "slices": {"kind": 0.2}}}}).margin == 0.04
    assert parsed({}, {"metrics": {"ndcg@10": {"slices": {"kind": 0.2}}, "recall@5": 0.01}}).margin == 0.03
    assert parsed({"margin": 0.01}, {"metrics": {"ndcg@10": 0.05}}).margin == 0.01
    assert parsed({"margin": 0}).margin == 0
    assert parsed({}, {"metrics": {"ndcg@10": 0.05}}, "ndcg@10 + recall@5") == Rule(0.03, span=2.0)


def test_an_exchange_rate_is_a_price_of_each_unit() -> None:
    (price,) = parsed({"exchange": "0.01 ndcg@10 = 50 ms"}).prices
    assert price == Price("ms", pytest.approx(0.0002), "0.01 ndcg@10 = 50 ms")
    found = parsed({"exchange": ["0.01 ndcg@10 = 50 ms", ".02 ndcg@10=1.5 usd", "1e-3 ndcg@10 = 100 MB"]})
    assert [(one.scale, one.quality) for one in found.prices] == [
        ("latency", pytest.approx(0.0002)),
        ("cost", pytest.approx(0.02 / 1.5)),
        ("size", pytest.approx(1e-5)),
    ]
    assert found.to_json() == {
        "margin": None,
        "exchange": ["0.01 ndcg@10 = 50 ms", ".02 ndcg@10=1.5 usd", "1e-3 ndcg@10 = 100 MB"],
    }
    assert parsed({"exchange": "0.1 objective = 1 ms"}, objective="ndcg@10 + recall@5").prices[0].quality == 0.1


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        ({"margins": 0.1}, "recommend: there is no 'margins'"),
        ({"margin": 0.1, "exchange": "0.01 ndcg@10 = 50 ms"}, "has a margin and an exchange rate"),
        ({"margin": -0.1}, "a number from 0 to below 1"),
        ({"margin": True}, "is true"),
        ({"exchange": "0.01 ndcg@10 = 50"}, "for example: 0.01 ndcg@10 = 50 ms"),
        ({"exchange": "0.01 ndcg@10 = 50 s"}, "with the unit ms, usd or MB"),
        ({"exchange": "ndcg@10 = 50 ms"}, "for example"),
        ({"exchange": "0.01 recall@5 = 50 ms"}, "names 'recall@5'"),
        ({"exchange": "0 ndcg@10 = 50 ms"}, "above 0"),
        ({"exchange": "0.01 ndcg@10 = 1e999 ms"}, "above 0"),
        ({"exchange": ["0.01 ndcg@10 = 50 ms", "0.02 ndcg@10 = 1 ms"]}, "two rates of one unit"),
        ({"exchange": 50}, "for example"),
    ],
)
def test_what_cannot_be_meant_is_refused(raw: dict[str, object], output: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(raw)
    assert output in str(caught.value)


def test_a_clock_as_objective_takes_no_rule() -> None:
    assert parsed({}, objective="minimize latency_p95_ms").margin == MARGIN
    with pytest.raises(ConfigError, match="not a score of questions"):
        parsed({"margin": 0.1}, objective="minimize latency_p95_ms")


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("recommend: {margn: 0.1}", "recommend: there is no 'margn'"),
        ('recommend: {exchange: "0.01 ndcg@10 = 5 ms"}', "latency=0 measures no time"),
        ('recommend: {exchange: "0.01 ndcg@10 = 5 usd"}', "no trial generates anything"),
    ],
)
def test_a_rule_is_refused_before_anything_runs(tmp_path: Path, line: str, output: str) -> None:
    path = write_experiment(tmp_path / "study.yaml", write_golden(tmp_path / "golden"), "  k: k=1,3")
    path.write_text(f"{path.read_text('utf-8')}\n{line}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        sweep.prepare(load(str(path), [f"store={tmp_path / 'store'}"]))
    assert output in str(caught.value)
    assert not (tmp_path / "store").exists()
