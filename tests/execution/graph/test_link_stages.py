"""Each link between a question and its passages is a stage of its own: what it does not read does not repeat it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.small_set import write_golden

from rag.components.indexes.terms import WordSearcher
from rag.config.experiment import load
from rag.core.rankings import Rankings
from rag.execution.graph import plan
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep

PROMPTS = "prompt: prompt=plain,bare,cited,layered"
LOOKING = ("look", "route", "shape", "policy", "reuse", "condense", "audit")
SEARCHING = ("search", "fuse", "rerank", "select")


def planned(folder: Path, axes: Sequence[str], *fixed: str) -> Plan:
    """The plan of an experiment over the small golden set, quoted by `generator=extractive`."""
    golden = folder / "golden"
    if not golden.exists():
        write_golden(golden)
    held = ", ".join((f'"dataset.path={golden}"', "embedder=hashing", "latency=0", *(f'"{each}"' for each in fixed)))
    lines = ("question: Does it work?", "dataset: native", "split: all", "holdout: 0", "controls: false", f"fixed: [{held}]")
    text = "\n".join((*lines, "objective: token_f1", "axes:", *(f"  {each}" for each in axes)))
    path = folder / "study.yaml"
    path.write_text(f"{text}\n", "utf-8")
    return plan.make(load(str(path), ()), Store(str(folder / "store")))


def stages(made: Plan) -> dict[str, int]:
    """The number of stages by name, of those between a question and its passages."""
    counts = Counter(stage.name for stage in made.stages.values())
    return {name: counts[name] for name in (*SEARCHING, *LOOKING) if counts[name]}


@pytest.mark.parametrize(
    ("axes", "fixed", "expected"),
    [
        (
            ("prompt: prompt=plain,cited", "check: check=none,[citations]", "memory: memory=none,buffer"),
            ("policy=gap_loop_rules", "index=[bm25s]", "fusion=single"),
            {"policy": 1},
        ),
        (
            ("k: k=3,5,10", "prompt: prompt=plain,cited"),
            ("preset=assay", "embedder=hashing", "generator=extractive"),
            {"search": 2, "fuse": 1, "select": 1, "look": 1, "route": 1},
        ),
        ((PROMPTS,), ("reuse=similar",), {"search": 2, "fuse": 1, "reuse": 1}),
        (
            (PROMPTS, "guard: guard=none,[spotlight]"),
            ("condense=extractive",),
            {"search": 2, "fuse": 1, "condense": 1},
        ),
        ((PROMPTS,), ("exclude=[bus.md]",), {"search": 2, "fuse": 1}),
    ],
)
def test_what_a_link_does_not_read_does_not_repeat_it(
    tmp_path: Path, axes: Sequence[str], fixed: Sequence[str], expected: dict[str, int]
) -> None:
    assert stages(planned(tmp_path, axes, *fixed)) == expected


@pytest.mark.parametrize("fixed", [("policy=gap_loop_rules",), ("route=rules", "enrich=tables"), ("condense=extractive",)])
def test_four_prompts_search_as_often_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixed: Sequence[str]) -> None:
    searched, search = list[int](), WordSearcher.search

    def counting(self: WordSearcher, texts: Sequence[str], *rest: Any) -> Rankings:
        searched.append(len(texts))
        return search(self, texts, *rest)

    monkeypatch.setattr(WordSearcher, "search", counting)
    counts = []
    for name, axis in (("one", "prompt: prompt=plain"), ("four", PROMPTS)):
        (folder := tmp_path / name).mkdir()
        made = planned(folder, (axis,), "index=[bm25s]", "fusion=single", *fixed)
        done = sweep.run(made, Store(str(folder / "store")), {"mode": "inline"}, lambda key, outcome: None)
        assert {row.error for row in done.board.rows} == {""}
        counts.append(sum(searched))
        searched.clear()
    assert counts[0] == counts[1] > 0
