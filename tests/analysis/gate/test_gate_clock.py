"""Ratios of latencies: two pipelines in turns, an interval, and stored timings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Verb
from support.gate_experiment import forge, write_gated

from rag.analysis.gate import latency
from rag.analysis.gate.finding import FAIL, INCONCLUSIVE, PASS
from rag.analysis.gate.latency import Ratio
from rag.analysis.gate.limits import hold_ratio
from rag.core.types import Example, Query
from rag.execution.sweep.objective import Bound

EXAMPLES = tuple(Example(Query(f"q{row}", f"Number {row}?")) for row in range(20))
BOUND = Bound.parse("latency_p95_ratio <= 1.3")


class Hours:
    """A clock that pipelines advance."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Slow:
    """A pipeline with a fixed latency, ten times as long for a new question, that logs its calls."""

    def __init__(self, name: str, seconds: float, log: list[str], hours: Hours) -> None:
        self.name, self.seconds, self.log, self.hours = name, seconds, log, hours

    def answer(self, query: Query) -> None:
        call = f"{self.name} {query.query_id}"
        self.hours.now += self.seconds if call in self.log else 10 * self.seconds
        self.log.append(call)


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Hours:
    clock = Hours()
    monkeypatch.setattr(latency, "time", clock)
    return clock


def test_both_are_asked_in_turns_and_timed_warm(hours: Hours) -> None:
    log: list[str] = []
    pipelines: Any = Slow("base", 1 / 256, log, hours), Slow("candidate", 3 / 256, log, hours)
    seconds = latency.timed(*pipelines, EXAMPLES)
    assert seconds.tolist() == [[1 / 256, 3 / 256]] * 20
    turns = latency.ROUNDS + 1
    assert log[: 2 * turns] == ["base q0", "candidate q0"] * turns
    assert log[2 * turns : 4 * turns] == ["candidate q1", "base q1"] * turns
    pipelines = Slow("base", latency.BUDGET, [], hours), Slow("candidate", latency.BUDGET, [], hours)
    assert len(latency.timed(*pipelines, EXAMPLES)) == latency.LEAST, "slow pipelines are asked fewer questions"


def test_the_interval_of_a_ratio_depends_on_the_spread() -> None:
    chance = np.random.default_rng(0)
    steady = np.column_stack([np.full(64, 0.01), np.full(64, 0.02)])
    assert latency.ratio_of_p95(steady) == Ratio(2.0, 2.0, 2.0, 64)
    wild = chance.lognormal(-4, 0.5, (64, 2))
    found = latency.ratio_of_p95(wild)
    assert found == latency.ratio_of_p95(wild)
    assert found.low < found.value < found.high
    assert found.low < 1 < found.high


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(Ratio(1.1, 1.0, 1.3, 64), PASS), (Ratio(1.5, 1.31, 1.9, 64), FAIL), (Ratio(1.2, 1.0, 1.5, 64), INCONCLUSIVE)],
)
def test_a_bound_is_broken_only_if_the_whole_interval_breaks_it(ratio: Ratio, verdict: str) -> None:
    assert hold_ratio(BOUND, ratio).verdict == verdict


def gate_of(bound: str) -> None:
    write_gated(Path("study.yaml"), Path("../golden"), gate=f'gate: {{metrics: {{}}, bounds: ["latency_p95_ratio {bound}"]}}\n')


def test_the_ratio_is_measured_once_and_then_stored(rag: Verb) -> None:
    gate_of("<= 1000")
    first, second = (rag("gate", "study.yaml", "chunker.size=300", "--json") for _ in range(2))
    assert (first.code, first.out) == (0, second.out)
    (bound,) = first.json["bounds"]
    assert 0 < bound["low"] <= bound["value"] <= bound["high"]
    assert len(list(Path(".rag/store/latencies").rglob("*"))) == 2
    gate_of("<= 0.001")
    broken = rag("gate", "study.yaml", "chunker.size=300", "--json")
    assert (broken.code, broken.json["bounds"][0]["value"]) == (1, bound["value"])


def test_the_same_pipeline_is_not_timed(rag: Verb) -> None:
    gate_of("<= 0.001")
    said = rag("gate", "study.yaml", "--json")
    assert (said.code, said.json["bounds"][0]["why"]) == (0, "not measured: the pipelines are the same")
    # Another metric changes the scores, not the pipeline.
    again = rag("gate", "study.yaml", "metrics=[ndcg@10,recall@5,mrr@10]", "--json")
    assert (again.code, again.json["bounds"][0]["why"]) == (0, "not measured: the pipelines are the same")


def test_a_baseline_that_cannot_be_built_leaves_the_bound_open(rag: Verb) -> None:
    gate_of("<= 1.3")
    kept = Path("reports/baselines/study.json")
    forge(kept, lambda content: content["config"]["chunker"].update({"_target_": "rag.components.chunkers.gone.GoneChunker"}))
    said = rag("gate", "study.yaml", "chunker.size=300", "--json")
    assert (said.code, said.json["verdict"]) == (3, "INCONCLUSIVE")
    assert "there is no module 'rag.components.chunkers.gone'" in said.json["bounds"][0]["why"]
