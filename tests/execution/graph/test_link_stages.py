"""Each link between a question and its passages is a stage of its own: what it does not read does not repeat it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.costly_sweep import ask_of
from support.scripted_server import answer, say, serving
from support.small_set import write_golden

from rag.config.experiment import load
from rag.core.looks import Look
from rag.execution.graph import plan
from rag.execution.graph.engine import Runner
from rag.execution.graph.plan import Plan
from rag.execution.graph.search_graph import GOLD
from rag.execution.graph.stage_inputs import Job, rankings_of
from rag.execution.store.serialisation import looks_of
from rag.execution.store.store import Store
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import open_config
from rag.execution.sweep.stage_sums import unusable_of_stage, unusable_of_trial
from rag.reporting.terminal.leaderboards import leaderboard

PROMPTS = "prompt: prompt=plain,bare,cited,layered"
LOOKING = ("look", "route", "shape", "policy", "reuse", "condense", "audit")
SEARCHING = ("search", "fuse", "rerank", "select")


REGISTER = "# Register\n\n| ship | berths | fee |\n|---|---|---|\n| Otter | 40 | 12 |\n| Heron | 20 | 9 |\n"


def planned(folder: Path, axes: Sequence[str], *fixed: str) -> Plan:
    """The plan of an experiment over the small golden set, quoted by `generator=extractive`."""
    golden = folder / "golden"
    if not golden.exists():
        write_golden(golden)
        (golden / "documents" / "register.md").write_text(REGISTER, "utf-8")
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
        ((PROMPTS, "guard: guard=none,[spotlight]"), ("condense=extractive",), {"search": 2, "fuse": 1, "condense": 1}),
        ((PROMPTS,), ("exclude=[bus.md]",), {"search": 2, "fuse": 1}),
    ],
)
def test_what_a_link_does_not_read_does_not_repeat_it(
    tmp_path: Path, axes: Sequence[str], fixed: Sequence[str], expected: dict[str, int]
) -> None:
    assert stages(planned(tmp_path, axes, *fixed)) == expected


ROLES = ("route", "policy", "reuse", "shape", "condense")
SHIPPED = [f"{role}={path.stem}" for role in ROLES for path in sorted(Path("conf", role).resolve().glob("*.yaml"))]
TOGETHER = (
    "shape=rules condense=extractive policy=gap_loop_rules route=rules reuse=similar memory=buffer",
    "shape=model condense=model policy=agent route=model guard=[scan,spotlight]",
    "shape=model condense=extractive guard=[scan,spotlight] selector=neighbours exclude=[bus.md]",
    "lock=[ferry.md,bus.md] context_tokens=30 shape=rules condense=extractive policy=gap_loop_rules",
    "lock=[ferry.md] condense=model",
)


class Hidden:
    """The gold of a question, which no link may read."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"a stage without gold in its key reads {name} of it")


def said(question: str) -> str:
    """A reply with every key that a link asks for; each link refuses those of the others, and falls back."""
    if "thought" in question or "Passages found" in question:
        return '{"thought": "more", "tool": "search", "query": "ticket"}'
    return (
        '{"queries": ["ticket price"]}' if len(question) % 2 else '{"intent": "", "domain": "Ferry", "search": "ferry price"}'
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Store]]:
    """A sweep over all shipped choices of links whose stages cannot read gold, and its store."""
    folder, job = tmp_path_factory.mktemp("links"), Runner.job

    def blind(self: Runner, key: str) -> Job:
        given = job(self, key)
        if GOLD in self.graph.stages[key].inputs:
            return given
        hidden = tuple(replace(example, answers=Hidden(), evidence=Hidden()) for example in given.golden.examples)
        return replace(given, golden=replace(given.golden, examples=hidden))

    with pytest.MonkeyPatch.context() as patch, serving(answer(said, {"prompt_tokens": 9, "completion_tokens": 1})) as server:
        ask_of(server, patch)
        patch.setattr(Runner, "job", blind)
        links = ", ".join(f'"{each}"' for each in (*SHIPPED, *TOGETHER))
        made = planned(folder, (f"link: [{links}]",), "enrich=tables", "index=[bm25s]", "fusion=single", "generator=extractive")
        done = sweep.run(made, store := Store(str(folder / "store")), {"mode": "inline"}, lambda key, outcome: None)
        assert {row.name: row.error for row in done.board.rows if row.error} == {}
        yield made, store


def test_links_find_in_a_sweep_what_the_whole_pipeline_finds(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    for trial in made.trials:
        entry = store.read(made.stages[trial.ends.ranking].entry)
        rankings, looks = rankings_of(entry), looks_of(entry.meta) or [None] * len(trial.golden.examples)
        traces = open_config(trial.trial.config).traces([example.query for example in trial.golden.examples])
        for row, (trace, look) in enumerate(zip(traces, looks, strict=True)):
            where = f"{trial.trial.name}, {trial.golden.examples[row].query.text}"
            assert trace.selected.row(0) == rankings.row(row), where
            assert untimed(trace.look) == untimed(look), where


def untimed(look: Look | None) -> Look | None:
    return look and replace(look, steps=tuple(replace(step, seconds=0.0) for step in look.steps))


def test_replies_that_no_helper_can_use_are_counted_on_the_board_and_named_by_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rag: Verb
) -> None:
    asking = ("queries=multi_query", "route=model", "shape=model", "condense=model", "policy=gap_loop", "enrich=model")
    usual = ("index=[bm25s]", "fusion=single", "generator=extractive")
    with serving(say("I would rather not.")) as server:
        ask_of(server, monkeypatch)
        made = planned(tmp_path, (f"link: {{no model: policy=single, every part asks a model: '{' '.join(asking)}'}}",), *usual)
        board = sweep.run(made, Store(str(tmp_path / "store")), {"mode": "inline"}, lambda key, outcome: None).board
        said = rag("ask", "When does the ferry leave?", "dataset=native", f"dataset.path={tmp_path / 'golden'}",
                   "embedder=hashing", *usual, *asking).out  # fmt: skip
    with_model, without = sorted((row.measured for row in board.rows), key=lambda measured: "unusable" not in measured)
    assert "unusable" not in without
    questions = {"queries": 6, "route": 6, "shape": 11, "policy": 6, "condense": 5, "enrich": 5}  # one question finds nothing
    assert {name: with_model[f"unusable_{name}"] for name in questions} == questions
    assert with_model["unusable"] == sum(questions.values())
    none = [{"unusable": unusable_of_stage({"looks": []})}]
    assert unusable_of_trial({"shape": {"generator": {}}}, none) == {"unusable_shape": 0, "unusable": 0}
    assert {"unusable", "tokens"} < {column.header for column in leaderboard(board).columns}  # 80 columns hold few
    assert "Without a usable reply of a model: queries, route, shape (2 times), policy, condense." in said
