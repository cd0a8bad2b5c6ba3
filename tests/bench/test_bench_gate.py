"""How often a gate is wrong, and how long it takes with a warm store."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench.measuring import DATA, Report, needs_data, rag, timed
from scipy import stats

from rag.analysis.gate import sample
from rag.analysis.gate.decide import FAIL, INCONCLUSIVE, PASS, Pair, decide
from rag.analysis.gate.measure import Prepared
from rag.analysis.gate.spec import Margin
from rag.config import experiment
from rag.core.types import Document, Example, Query
from rag.evaluation.data.golden import Golden
from rag.execution.graph import plan
from rag.execution.store.store import Store

pytestmark = pytest.mark.bench

QUESTIONS, TRIES, MARGIN = 200, 400, 0.03
ERROR = float(stats.binom.ppf(0.999, TRIES, 0.025) / TRIES)
"""What 2.5 %, one side of a 95 % interval, may look like in so many tries, once in a thousand."""
LOOKS = {"one row": [Margin("m", "", MARGIN)], "five rows": [Margin("m", "", MARGIN), Margin("m", "kind", 0.1)]}


def shares(change: float, looks: list[Margin]) -> dict[str, float]:
    """How often each verdict falls over a true change: two questions to a document, paired sd .15."""
    random, found = np.random.default_rng(1), Counter[str]()
    examples = tuple(Example(Query(f"q{row}", "?"), kind="abcd"[row % 4]) for row in range(QUESTIONS))
    golden, cluster = Golden((Document("d", "text"),), examples), np.arange(QUESTIONS) // 2
    base = np.full((QUESTIONS, 1), 0.5)
    for _ in range(TRIES):
        document, question = random.normal(0, 0.1, QUESTIONS // 2)[cluster], random.normal(0, 0.11, QUESTIONS)
        pair = Pair(golden, ("m",), base, base + (change + document + question)[:, None], cluster)
        verdicts = {row.verdict for row in decide(pair, looks)}
        found[FAIL if FAIL in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else PASS] += 1
    return {verdict: found[verdict] / TRIES for verdict in (PASS, INCONCLUSIVE, FAIL)}


def test_a_gate_keeps_its_word() -> None:
    report = Report(
        f"Verdicts over true changes, margin {MARGIN}, {QUESTIONS} questions", ("change", "looks", PASS, "open", FAIL)
    )
    for name, looks in LOOKS.items():
        for change in (0.0, -MARGIN, -0.05, -0.1):
            told = shares(change, looks)
            report.row(change, name, *told.values())
            if change == 0.0:
                assert told[FAIL] <= ERROR
            else:
                assert told[PASS] <= ERROR
            if change <= -0.05:
                assert told[FAIL] >= 0.9
    report.note(f"Wrong are FAIL over no change and PASS over a loss of the margin: 2.5 % may look like {ERROR:.3f}.")
    report.show()


def test_a_gate_with_a_warm_store_ends_in_half_a_minute(bench: Path) -> None:
    rag("sweep", "lexical", "--no-track", "--json")
    rag("baseline", "lexical", "--json")
    report = Report("A gate of the handbook, in a process of its own", ("change", "verdict", "seconds", "CPU"))
    for change in ("index.bm25s.k1=1.2", "index.bm25s.k1=1.3", "index.bm25s.k1=1.3"):
        told = rag("gate", "lexical", change, "--json")
        report.row(change, told.content["verdict"], told.taken.wall, told.taken.cpu)
        assert told.taken.wall < 30
    report.note("The first changes nothing, the second is computed, the third is reused; all but the second compute a sample.")
    report.show()


@needs_data
def test_a_sample_takes_seconds(bench: Path) -> None:
    report = Report(
        "A sample of 32 questions, computed by a gate with an empty store", ("data", "characters", "wall s", "CPU s")
    )
    for name in ("cranfield", "scifact-train"):
        fixed = ("dataset=beir", f"dataset.path={DATA}/beir/{name}", "index=[bm25s]", "fusion=single", "generator=none")
        store = Store(str(bench / "store"))
        ready = Prepared(plan.make(experiment.ad_hoc((*fixed, "chunker=whole", "latency=0")), store), store, {})
        rows = sample.chosen(ready)
        golden = replace(ready.trial.golden, examples=tuple(ready.trial.golden.examples[row] for row in rows))
        with timed() as taken:
            sample._scores(ready.trial.trial.config, golden, ready.store)
        size = sum(len(document.text) for document in golden.documents)
        report.row(name, size, round(taken.wall, 2), round(taken.cpu, 2))
        assert taken.cpu < 10
    report.show()
