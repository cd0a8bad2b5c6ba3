"""A page scores the recommended trial under other settings as a run does, to 1e-9."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reporting.html.conftest import Opened
from support.chromium import CONTRAST
from support.gate_experiment import write_many

from rag.analysis.blame.corridor import Steps
from rag.analysis.blame.reader import Reader
from rag.components.fusion.rrf import ReciprocalRankFusion
from rag.components.fusion.weighted import WeightedFusion
from rag.components.metrics.mrr import ReciprocalRank
from rag.components.metrics.ndcg import DiscountedGain
from rag.components.metrics.recall import Recall
from rag.components.selectors.score_floor import ScoreFloorSelector
from rag.config.experiment import load
from rag.evaluation.gold_matching import Hits, judge, read_chars
from rag.execution.graph.open_pipeline import several
from rag.execution.sweep import sweep
from rag.reporting import html

METRICS: dict[str, Any] = {"ndcg": DiscountedGain(), "recall": Recall(), "mrr": ReciprocalRank()}
COLUMNS = ("ndcg@10", "recall@3", "mrr@7", "recall@k", "mrr@k", "ndcg@k")
EXPERIMENT = """
question: Which?
dataset: native
fixed: [dataset.path=golden, embedder=hashing, "index=[bm25s,dense]", generator=none, latency=0, depth=30, coverage=1,
        "metrics=[ndcg@10,recall@3,mrr@7]", chunker=fixed, chunker.size=70, chunker.overlap=30]
axes: {read: ["READ"]}
"""
PRICE = {"doc": "note-001.txt", "quote": "The violet lantern costs 11 crowns."}
OTHER = {"doc": "note-002.txt", "quote": "The crimson lantern costs 12 crowns."}
GOLD: list[tuple[str, list[tuple[int, list[dict[str, str]]]]]] = [
    ("What does the violet lantern cost?", [(1, [PRICE | {"quote": "costs 11 crowns."}]), (3, [PRICE]), (1, [OTHER])]),
    ("What do lanterns cost?", [(1, [{"doc": "note-002.txt"}, {"doc": "note-003.txt"}]), (2, [{"doc": "note-004.txt"}])]),
    ("no word of it", [(1, [{"doc": "note-005.txt"}, PRICE])]),
    ("29", [(1, [{"doc": "note-019.txt"}])]),
]


def swept(text: str) -> tuple[sweep.Prepared, sweep.Sweep]:
    Path("tried.yaml").write_text(text, "utf-8")
    ready = sweep.prepare(load("tried.yaml", ["store=store"]))
    return ready, sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None)


@pytest.mark.parametrize(
    "read", ["fusion=weighted selector=parents selector.parents.size=260", "fusion=rrf fusion.k=9 selector=neighbours"]
)
def test_the_page_scores_as_a_run(
    read: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Opened]
) -> None:
    monkeypatch.chdir(tmp_path)
    with (write_many(tmp_path / "golden", 20) / "questions.jsonl").open("a", encoding="utf-8") as file:
        for number, (text, groups) in enumerate(GOLD):
            evidence = [{"grade": grade, "any": places} for grade, places in groups]
            line = {"id": f"more-{number}", "text": text, "split": "tune", "evidence": evidence}
            file.write(f"{json.dumps(line)}\n")
    ready, _ = swept(EXPERIMENT.replace("READ", read))
    report = opened(html.write(ready.plan, ready.store).page.absolute())
    page = report.page
    reader, steps = Reader(ready.plan, ready.store), Steps.of(ready.trial, ready.plan.stages)
    assert steps is not None
    corpus, gold = reader.corpus(ready.trial), reader.gold(ready.trial)
    lists = {name: reader.rankings(key) for name, key in steps.indexes.items()}
    (wide,) = several(ready.trial.trial.config["selector"], ready.plan.graph.components).values()

    def expected(k: int, kind: str, weights: list[float], floor: float) -> dict[str, Any]:
        fusion = WeightedFusion(weights) if kind == "weighted" else ReciprocalRankFusion(9 if "rrf" in read else 60, weights)
        ranked = wide.select(ScoreFloorSelector(floor, relative=True).select(fusion.fuse(lists, 30), corpus), corpus)
        judged, hits = judge(ranked, gold), Hits.of(ranked)
        found = {"read": np.bincount(hits.question, read_chars(hits, gold) * (hits.rank <= k), len(judged))}
        for name, cut in (column.split("@") for column in COLUMNS):
            cuts = np.full(len(judged), k if cut == "k" else int(cut))
            found[f"{name}@{cut}"] = METRICS[name].score(judged, cuts)
        return {name: values[judged.answerable] for name, values in found.items()}

    chance = np.random.default_rng(5)
    drawn = zip(*(chance.integers(0, most, 500).tolist() for most in (30, 2, 101, 101)), strict=True)
    tried = [
        {"k": k + 1, "kind": ("rrf", "weighted")[kind], "weights": [share / 100, (100 - share) / 100], "floor": floor / 100}
        for k, kind, share, floor in drawn
    ]
    for one, found in zip(tried, page.evaluate("tried => tried.map(WhatIf.measure)", tried), strict=True):
        for name, values in expected(**one).items():
            assert np.abs(np.array(found[name]) - values).max() < 1e-9, (one, name)
    page.fill("#try-floor", "0.35")
    page.fill("#try-weight-0", "35")
    page.focus("#try-k")
    page.keyboard.press("ArrowLeft")
    page.click("#make-experiment")
    assert (report.errors, page.evaluate(CONTRAST)) == ([], [])
    shown = dict(line.split("\t")[:3:2] for line in page.inner_text("#tried").splitlines())
    done = swept(page.inner_text("#experiment"))[1]
    before, after = ({row.name: row for row in done.board.rows}[name] for name in ("recommended", "tried"))
    assert [shown[name] for name in COLUMNS[:3]] == [f"{after.value(name):.3f}"[1:] for name in COLUMNS[:3]]
    assert before.value("ndcg@10") != after.value("ndcg@10")
