"""A sweep runs every distinct stage once, survives kills, failures and a twin, and says the same in any order and number."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from support.small_set import AXES, write_experiment, write_golden

from rag.config.experiment import load
from rag.execution.graph import dask_cluster, plan
from rag.execution.graph.engine import Outcome
from rag.execution.graph.executors import InlineExecutor, executor_of, task_graph
from rag.execution.graph.plan import Plan
from rag.execution.store import maintenance
from rag.execution.store.store import Entry, Store
from rag.execution.sweep import sweep


def made(tmp_path: Path, store: Store, axes: str = AXES, fixed: str = "", *overrides: str) -> Plan:
    golden = tmp_path / "golden"
    if not golden.exists():
        write_golden(golden)
    return plan.make(load(str(write_experiment(tmp_path / "study.yaml", golden, axes, fixed)), overrides), store)


def swept(planned: Plan, store: Store, mode: str = "inline") -> sweep.Sweep:
    return sweep.run(planned, store, {"mode": mode, "workers": 2}, lambda key, outcome: None)


def board(done: sweep.Sweep) -> str:
    return json.dumps(done.board.to_json())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sweep.Sweep]:
    """The folder of a study, with its store, and the sweep of it in one process."""
    folder = tmp_path_factory.mktemp("base")
    store = Store(str(folder / "store"))
    return folder, swept(made(folder, store), store)


@pytest.fixture
def copied(tmp_path: Path, base: tuple[Path, sweep.Sweep]) -> Store:
    """The store of the base in this test's folder, to be changed."""
    return Store(str(shutil.copytree(base[0] / "store", tmp_path / "store")))


def test_every_distinct_stage_runs_once_and_a_second_sweep_runs_none(tmp_path: Path, base: Any, copied: Store) -> None:
    store, first = copied, base[1]
    # 3 chunkers, each: 1 chunk, 1 embed, 2 indexes, 2 searches, 3 fusions, 1 gold, 3 judgements, 3 scores (no metric has @k),
    # and the questions embedded once for all.
    assert first.counts() == {"distinct": 3 * 16 + 1, "ran": 49, "failed": 0, "blocked": 0, "reused": 0}
    again = made(tmp_path, store)
    assert again.to_run == ()
    second = swept(again, store)
    assert second.counts()["ran"] == 0
    assert board(second) == board(first)
    assert second.board.measured() == first.board.measured()


def test_the_cut_k_makes_new_scores_and_nothing_else(tmp_path: Path, copied: Store) -> None:
    more = made(tmp_path, copied, AXES, ', "metrics=[recall@k]"')
    assert {more.stages[key].name for key in more.to_run} == {"score"}
    assert len(more.to_run) == 3 * 3 * 2


@pytest.mark.system
def test_one_process_two_processes_a_cluster_that_runs_already_and_shuffled_stages_say_the_same(
    tmp_path: Path, base: Any
) -> None:
    expected = board(base[1])
    two, shared, shuffled = (Store(str(tmp_path / name)) for name in ("two", "shared", "shuffled"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with dask_cluster.processes(1) as other:
            assert board(swept(made(tmp_path, two), two, "processes")) == expected
            place = {"mode": "cluster", "address": other.scheduler.address}
            done = sweep.run(made(tmp_path, shared), shared, place, lambda key, outcome: None)
            assert (done.counts()["ran"], board(done)) == (49, expected)
    planned = made(tmp_path, shuffled)
    tasks = task_graph(planned)
    keys = random.Random(0).sample(list(tasks), len(tasks))
    reordered = replace(planned, to_run=tuple(TopologicalSorter({key: tasks[key] for key in keys}).static_order()))
    assert board(swept(reordered, shuffled)) == expected


def test_a_failing_stage_fails_the_trials_that_need_it_and_no_others(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    dead = "generator=openai generator.model=none generator.base_url=http://127.0.0.1:9/v1 generator.runtime.retries=0"
    done = swept(made(tmp_path, store, f'  generator: {{quoting: generator=extractive, dead: "{dead}"}}'), store)
    assert [(row.name, row.status) for row in done.board.rows] == [("quoting", "done"), ("dead", "failed")]
    counts = done.counts()
    assert (counts["failed"], counts["blocked"]) == (1, 2)  # generate; check and score
    assert "127.0.0.1:9" in done.board.rows[1].error
    json.dumps(done.to_json(), allow_nan=False)


def test_an_interrupt_leaves_a_partial_leaderboard_and_the_rest_goes_on(tmp_path: Path, base: Any) -> None:
    store = Store(str(tmp_path / "store"))
    planned = made(tmp_path, store)
    seen: list[str] = []

    def stop(key: str, outcome: Outcome | None) -> None:
        seen.append(key)
        if outcome is not None and planned.stages[key].name == "score":
            raise KeyboardInterrupt

    stopped = sweep.run(planned, store, {"mode": "inline"}, stop)
    assert stopped.interrupted
    assert sorted({row.status for row in stopped.board.rows}) == ["done", "not run"]
    rest = made(tmp_path, store)
    assert 0 < len(rest.to_run) < len(planned.to_run)
    assert board(swept(rest, store)) == board(base[1])


def test_a_clock_that_jumps_costs_no_result_that_is_used(tmp_path: Path, copied: Store) -> None:
    store = copied
    store.write("stages/" + "0" * 64, Entry(meta={"cost": {"name": "chunk"}}))
    unused = store.path("stages/" + "0" * 64)
    used = {key for key in store.keys("stages") if store.path(key) != unused}
    now = time.time()
    for moved in (-400 * 86400, 400 * 86400, -400 * 86400):
        for key in store.keys("stages"):
            os.utime(store.path(key), (now + moved,) * 2)
        assert not swept(made(tmp_path, store), store).outcomes
        maintenance.collect(store, 30)
        assert used <= set(store.keys("stages"))
    assert not Path(unused).exists()


KILLER = """
# Sweeps again and again, each time in a child that is killed at a random step of storing what was still to do.
import os, random, signal, sys
from rag.core import files
from rag.execution.graph import engine, executors as execute, plan
from rag.execution.store import entry_format as entries, store as storing
from rag.execution.sweep import sweep
from rag.config.experiment import load

kills, steps, rng = int(sys.argv[1]), int(sys.argv[2]), random.Random(7)
store = storing.Store("store")
made = plan.make(load("study.yaml"), store)
places = {module.__file__ for module in (entries, engine, execute, files, storing)}

def swept(left, begun):
    def step(frame, event, argument):
        nonlocal left, begun
        begun = begun or frame.f_code.co_name == "replace_file"
        left -= begun and frame.f_code.co_filename in places
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def listen(key, outcome):
        if outcome is None and not store.has(made.stages[key].entry):
            sys.setprofile(step)

    sweep.run(made, store, {"mode": "inline"}, listen)

for number in range(kills):
    # Every second one while it writes its first result: that takes some thirty steps.
    begun = number % 2 == 0
    left = rng.randrange(steps if begun else 30)
    if not (child := os.fork()):
        swept(left, begun)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it ended before it was killed"
"""


@pytest.mark.system
def test_twenty_kills_at_random_steps_leave_nothing_broken(tmp_path: Path, base: Any) -> None:
    golden = write_golden(tmp_path / "golden")
    write_experiment(tmp_path / "study.yaml", golden, AXES)
    subprocess.run([sys.executable, "-c", KILLER, "20", "1600"], cwd=tmp_path, check=True, timeout=600)
    store = Store(str(tmp_path / "store"))
    assert 10 < len(store.keys("stages")) < 49, "the kills must hit a sweep on its way"
    assert [key for key in store.keys("stages") if store.read(key) is None] == []
    assert list(Path(store.base).rglob("*.tmp")), "and some of them a write"
    store.clear_orphans()
    assert not list(Path(store.base).rglob("*.tmp"))
    assert board(swept(made(tmp_path, store), store)) == board(base[1])


def test_an_executor_must_be_one_that_there_is() -> None:
    assert isinstance(executor_of({"mode": "inline"}), InlineExecutor)
    for settings in ({"mode": "cloud"}, {}, {"mode": "cluster"}, {"mode": "processes", "workers": 0}):
        with pytest.raises(Exception, match="execute"):
            executor_of(settings)


FOUR = """\
  chunker: [chunker=whole, "chunker=fixed chunker.size=60"]
  search: ["index=[bm25s] fusion=single", "index=[dense] fusion=single"]"""


def rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_sweeps_that_start_together_share_everything(tmp_path: Path) -> None:
    """Nothing is said, computed or tracked twice."""
    write_experiment(tmp_path / "study.yaml", write_golden(tmp_path / "golden"), FOUR)
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "-m", "rag", "sweep", "study.yaml", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    sweeps = [subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) for _ in range(2)]
    outputs = [one.communicate(timeout=300) for one in sweeps]
    assert [(one.returncode, errors) for one, (_, errors) in zip(sweeps, outputs, strict=True)] == [(0, "")] * 2
    result = [json.loads(output) for output, _ in outputs]
    assert result[0]["trials"] == result[1]["trials"]
    assert {trial["status"] for trial in result[0]["trials"]} == {"done"}
    # 2 chunkers, each: chunk, embed, 2 indexes, 2 searches, 2 fusions, gold, 2 judgements, 2 scores; the questions once.
    assert {each["stages"]["distinct"] for each in result} == {2 * 13 + 1}
    assert sum(each["stages"]["ran"] for each in result) == 27
    assert list((tmp_path / ".rag").rglob("*.tmp")) == []
    database = tmp_path / ".rag" / "mlflow.db"
    names = ["fixed-60 · bm25s single", "fixed-60 · dense single", "study", "whole · bm25s single", "whole · dense single"]
    assert rows(database, "select name, status from runs order by name") == [(name, "FINISHED") for name in names]
    assert rows(database, "select name from experiments order by name") == [("Default",), ("study",)]
    assert rows(database, "select run_uuid, key, count(*) n from metrics group by run_uuid, key having n > 1") == []
