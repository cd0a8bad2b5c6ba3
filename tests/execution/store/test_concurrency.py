"""Two processes that start together on an empty store and an empty tracking database."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from support.small_set import write_experiment, write_golden

AXES = """\
  chunker: [chunker=whole, "chunker=fixed chunker.size=60"]
  search: ["index=[bm25s] fusion=single", "index=[dense] fusion=single"]"""


def rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_sweeps_that_start_together_share_everything(tmp_path: Path) -> None:
    """Nothing is said, computed or tracked twice."""
    write_experiment(tmp_path / "study.yaml", write_golden(tmp_path / "golden"), AXES)
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
