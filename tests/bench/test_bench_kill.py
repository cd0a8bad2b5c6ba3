"""Fifty kills at random moments of a sweep, and eight sweeps that begin at once on nothing."""

import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.measuring import Report, declared, needs_data, rag
from support.small_set import AXES, write_experiment, write_golden

pytestmark = pytest.mark.bench

KILLS, PROCESSES, TIMES = 50, 8, 20

KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path

import bm25s, faiss  # else many kills would only hit imports

from rag.execution.graph import plan
from rag.execution.sweep import sweep
from rag.execution.store import maintenance as upkeep
from rag.config.experiment import load
from rag.execution.store.store import Store


def begin(made, store, board):
    "Fork a sweep; its process, as soon as it runs."
    hear, tell = os.pipe()
    child = os.fork()
    if not child:
        os.write(tell, b"!")
        done = sweep.run(made, store, {"mode": "inline"}, lambda key, outcome: None)
        Path(board).write_text(json.dumps(done.board.to_json()), "utf-8")
        os._exit(0)
    os.read(hear, 1)
    os.close(hear)
    os.close(tell)
    return child


def end(child):
    _, status = os.waitpid(child, 0)
    return status


def killed(made, number, seconds, expected):
    "Kill a sweep on a store of its own after some seconds, look at what is left, let another one go on."
    store = Store(f"store{number}")
    child = begin(made, store, f"killed{number}.json")
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    died = end(child) != 0
    left = upkeep.verify(store)
    told = {"after": seconds, "died": died, "entries": len(store.keys("stages")), "damaged": len(left["damaged"])}
    told["orphans"] = store.clear_orphans()
    told["left over"] = len(list(Path(store.base).rglob("*.tmp")))
    again = plan.make(load("study.yaml"), store)
    assert end(begin(again, store, f"again{number}.json")) == 0
    told["to run again"] = len(again.to_run)
    told["equal"] = Path(f"again{number}.json").read_bytes() == expected
    return told


rng = random.Random(int(sys.argv[2]))
whole = Store("whole")
made = plan.make(load("study.yaml"), whole)
began = time.perf_counter()
assert end(begin(made, whole, "whole.json")) == 0
took = time.perf_counter() - began
expected = Path("whole.json").read_bytes()
kills, missed = [], 0
while len(kills) < int(sys.argv[1]):
    kill = killed(made, len(kills) + missed, rng.random() * took, expected)
    if kill["died"]:
        kills.append(kill)
    else:  # The machine is less busy than it was: the sweep was over before.
        missed, took = missed + 1, kill["after"]
print(json.dumps({"seconds": took, "stages": len(made.stages), "kills": kills, "missed": missed}))
"""

SEARCHES = {
    "bm25": "index=[bm25s] fusion=single",
    "dense": "index=[dense] fusion=single",
    "rrf": "index=[bm25s,dense] fusion=rrf",
    "weighted": "index=[bm25s,dense] fusion=weighted",
}
CHUNKERS = {f"fixed-{size}": f"chunker=fixed chunker.size={size}" for size in (400, 800, 1600)}


@needs_data
def test_kills_at_random_moments(bench: Path) -> None:
    fixed = [
        "dataset.path=${data}/chroma-a",
        "embedder=hashing",
        "generator=none",
        "latency=0",
        "metrics=[recall@k,ndcg@10,iou@k]",
    ]
    axes = {"chunker": CHUNKERS, "search": SEARCHES, "k": "k=3,5,10"}
    declared(bench / "study.yaml", "Does it survive?", "chroma", fixed, axes)
    command = [sys.executable, "-c", KILLER, str(KILLS), "11"]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=3600, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    show_kills(told)
    last = rag("sweep", "study.yaml", f"store=store{KILLS - 1}", "--no-track", "--json").content
    kills = told["kills"]
    assert all(kill["equal"] for kill in kills)
    assert sum(kill["damaged"] + kill["left over"] for kill in kills) == 0
    assert last["stages"]["ran"] == 0


def show_kills(told: dict[str, Any]) -> None:
    kills = told["kills"]
    report = Report(f"{KILLS} × kill -9 at random moments of a sweep over chroma-a", ("what", "found"))
    report.row("seconds of the whole sweep", float(told["seconds"]))
    report.row("distinct stages", told["stages"])
    report.row("killed on their way", len(kills))
    report.row("others that were over before", told["missed"])
    entries = sorted(kill["entries"] for kill in kills)
    report.row("stages found then: fewest, median, most", f"{entries[0]}, {entries[len(entries) // 2]}, {entries[-1]}")
    report.row("entries that could not be read back", sum(kill["damaged"] for kill in kills))
    report.row("temporary files left by the killed", sum(kill["orphans"] for kill in kills))
    report.row("of these there after the next start", sum(kill["left over"] for kill in kills))
    report.row("leaderboards equal to the byte", sum(kill["equal"] for kill in kills))
    report.show()


def test_eight_processes_begin_at_once_on_nothing(bench: Path) -> None:
    golden = write_golden(bench / "golden")
    spent, runs = [], Counter[str]()
    for number in range(TIMES):
        folder = bench / f"time{number}"
        folder.mkdir()
        write_experiment(folder / "study.yaml", golden, AXES)
        began = time.perf_counter()
        told = at_once(folder)
        spent.append(time.perf_counter() - began)
        assert sum(each["stages"]["ran"] for each in told) == told[0]["stages"]["distinct"]
        assert len({json.dumps(each["trials"]) for each in told}) == 1
        runs += statuses(folder / ".rag" / "mlflow.db")
    report = Report(f"{PROCESSES} cold processes, one empty store, one empty MLflow database, {TIMES} times", ("what", "found"))
    report.row(
        "seconds: least, median, most",
        ", ".join(f"{taken:.1f}" for taken in (min(spent), sorted(spent)[TIMES // 2], max(spent))),
    )
    report.row("processes that failed", 0)
    report.row("MLflow runs by status", ", ".join(f"{status} {count}" for status, count in runs.items()))
    report.row("MLflow runs if each sweep were sent once", TIMES * (1 + len(told[0]["trials"])))
    report.show()
    assert runs == {"FINISHED": TIMES * (1 + len(told[0]["trials"]))}


def at_once(folder: Path) -> list[dict[str, Any]]:
    """Start all processes before waiting for any; what each told."""
    command = [sys.executable, "-m", "rag", "sweep", "study.yaml", "store=store", "--json"]
    # Into files: a full pipe would hold up all but the one that is read.
    places = [folder / f"told{number}.json" for number in range(PROCESSES)]
    running = [begun(command, folder, place) for place in places]
    for process, place in zip(running, places, strict=True):
        assert process.wait(timeout=900) == 0, place.with_suffix(".err").read_text("utf-8")
    return [json.loads(place.read_text("utf-8")) for place in places]


def begun(command: list[str], folder: Path, place: Path) -> subprocess.Popen[bytes]:
    with place.open("wb") as out, place.with_suffix(".err").open("wb") as err:
        return subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)


def statuses(database: Path) -> Counter[str]:
    """How many runs of each status a database holds."""
    with closing(sqlite3.connect(database)) as connection:
        return Counter(status for (status,) in connection.execute("SELECT status FROM runs"))
