"""Many processes that start together on an empty store and an empty tracking database."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from support.small_set import write_experiment, write_golden

PROCESSES = 2
REPEATS = int(os.environ.get("RAG_REPEATS", "1"))
AXES = """\
  chunker: [chunker=whole, "chunker=fixed chunker.size=60"]
  search: ["index=[bm25s] fusion=single", "index=[dense] fusion=single"]"""

# Cold starts would spend most of the time on imports: one process imports, then forks some that have touched nothing yet.
START = """
import os, sys
import faiss, mlflow.store.db.utils, mlflow.store.model_registry.sqlalchemy_store, mlflow.store.tracking.sqlalchemy_store
from rag import cli
from rag.config import identity
from rag.execution.graph import plan
from rag.tracking import sweep_runs as runs, mlflow_client as tracking
from rag.execution.sweep import sweep
from rag.reporting.terminal import progress, recommendation
from rag.config.compose import compose
from rag.components.embedders import hashing
from rag.components.indexes import bm25s, faiss_flat

identity.library_version("faiss")
compose([])

def start(number):
    if child := os.fork():
        return child
    os.dup2(os.open(f"{number}.out", os.O_CREAT | os.O_WRONLY), 1)
    os.dup2(os.open(f"{number}.err", os.O_CREAT | os.O_WRONLY), 2)
    try:
        cli.main()
    except SystemExit as error:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(error.code)
    os._exit(99)

processes, *folders = sys.argv[1:]
sys.argv = ["rag", "sweep", "study.yaml", "--json"]
for folder in folders:
    os.chdir(folder)
    children = [start(number) for number in range(int(processes))]
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_sweeps_that_start_together_share_everything(tmp_path: Path) -> None:
    folders = [tmp_path / str(repeat) for repeat in range(REPEATS)]
    for folder in folders:
        write_experiment(folder / "study.yaml", write_golden(folder / "golden"), AXES)
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "-c", START, str(PROCESSES), *map(str, folders)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300 * REPEATS, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [str([0] * PROCESSES)] * REPEATS
    for folder in folders:
        assert_shared(folder)


def assert_shared(folder: Path) -> None:
    """Nothing was said, computed or tracked twice."""
    assert [(folder / f"{number}.err").read_text("utf-8") for number in range(PROCESSES)] == [""] * PROCESSES
    result = [json.loads((folder / f"{number}.out").read_text("utf-8")) for number in range(PROCESSES)]
    assert len({json.dumps(each["trials"]) for each in result}) == 1
    assert {trial["status"] for trial in result[0]["trials"]} == {"done"}
    # 2 chunkers, each: chunk, embed, 2 indexes, 2 searches, 2 fusions, gold, 2 judgements, 2 scores; the questions once.
    assert {each["stages"]["distinct"] for each in result} == {2 * 13 + 1}
    assert sum(each["stages"]["ran"] for each in result) == 27
    assert list((folder / ".rag").rglob("*.tmp")) == []
    database = folder / ".rag" / "mlflow.db"
    names = ["fixed-60 · bm25s single", "fixed-60 · dense single", "study", "whole · bm25s single", "whole · dense single"]
    assert rows(database, "select name, status from runs order by name") == [(name, "FINISHED") for name in names]
    assert rows(database, "select name from experiments order by name") == [("Default",), ("study",)]
    assert rows(database, "select run_uuid, key, count(*) n from metrics group by run_uuid, key having n > 1") == []
