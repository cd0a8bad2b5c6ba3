"""How long people wait: for help, for a plan, for an answer, for the figures of three hundred trials."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.measuring import ROOT, Report, declared, median_seconds, needs_data, planned, rag, swept, timed

from rag.core.types import Query
from rag.evaluation.scoring import Judged, score, summarise
from rag.execution.sweep.open_config import config_of, open_config

pytestmark = pytest.mark.bench

COLUMNS = [
    *(f"{metric}@{cut}" for metric in ("recall", "precision", "hit", "map", "mrr", "ndcg", "judged") for cut in (5, 10)),
    *("char_recall@5", "char_precision@5", "iou@5", "char_recall@10", "recall@2000chars", "recall@4000chars"),
]
SEARCHES = {
    "bm25s": ("index=[bm25s]", "fusion=single"),
    "dense (minilm)": ("index=[dense]", "fusion=single"),
    "rrf of both": ("index=[bm25s,dense]", "fusion=rrf"),
}
QUESTIONS, WARM = 150, 10


@needs_data
def test_help_and_plan(bench: Path) -> None:
    command = [sys.executable, "-m", "rag", "--help"]
    report = Report("Waiting for the command line", ("what", "wall s", "CPU s"))
    helped = median_seconds(lambda: subprocess.run(command, capture_output=True, check=True), 5)
    report.row("rag --help, median of 5", helped, None)
    told = rag("plan", "grid", "store=store")
    report.row("rag plan grid, 288 trials, as a command", told.taken.wall, told.taken.cpu)
    with timed() as first:
        planned("grid", "store=store")
    with timed() as again:
        planned("grid", "store=store")
    report.row("the same in one process, first time", first.wall, first.cpu)
    report.row("the same in one process, second time", again.wall, again.cpu)
    report.show()


@pytest.mark.parametrize("generator", ["none", "extractive"])
def test_single_questions(bench: Path, generator: str) -> None:
    lines = (ROOT / "datasets" / "handbook" / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [Query(row["id"], row["text"]) for row in map(json.loads, lines)][:QUESTIONS]
    columns = ("search", "questions a second", "median ms", "p95 ms", "CPU ms a question")
    report = Report(f"One question at a time on the handbook, chunks of 800 characters, generator {generator}", columns)
    for name, overrides in SEARCHES.items():
        chosen = ("chunker=recursive", "chunker.size=800", "embedder=minilm", f"generator={generator}", "store=store")
        pipeline = open_config(config_of([*chosen, *overrides]))
        for query in asked[:WARM]:
            pipeline.answer(query)
        taken = []
        for query in asked:
            with timed() as once:
                pipeline.answer(query)
            taken.append(once)
        waits = sorted(1000 * once.wall for once in taken)
        cpu = 1000 * sum(once.cpu for once in taken) / len(taken)
        report.row(name, 1000 * len(waits) / sum(waits), waits[len(waits) // 2], waits[int(0.95 * len(waits))], cpu)
    report.show()


@needs_data
def test_evaluation_of_three_hundred_trials(bench: Path) -> None:
    fixed = [
        "dataset.path=${data}/chroma-a",
        "chunker=fixed",
        "chunker.size=800",
        "embedder=hashing",
        "generator=none",
        "latency=0",
    ]
    done, store = swept(declared(bench / "one.yaml", "How fast are the figures?", "chroma", [*fixed, "store=store"], {}))
    trial, components = done.plan.trials[0], done.plan.graph.components
    entry = store.read(done.plan.stages[trial.ends.judge].entry)
    assert entry is not None
    judged, nodes = Judged.from_arrays(entry.arrays), trial.trial.config["metric"]
    metrics = {name: components.role("metric", nodes[name]) for name in dict.fromkeys(c.split("@")[0] for c in COLUMNS)}
    with timed() as taken:
        for _ in range(300):
            summarise(score(judged, None, trial.golden.examples, metrics, COLUMNS, 5), trial.golden.examples)
    report = Report(f"Scores and intervals: 300 trials × {len(COLUMNS)} metrics × {len(judged)} questions", ("wall s", "CPU s"))
    report.row(taken.wall, taken.cpu)
    report.show()
