"""Sweeps over files of several formats, with a preset, replies of a model and MLflow, that are killed at drawn moments."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from support.costly_sweep import ask_of
from support.sample_files import docx, pdf
from support.scripted_server import Script, answer, serving
from support.small_set import write_experiment, write_golden

from rag.execution.store.maintenance import entries
from rag.execution.store.store import Store

pytestmark = pytest.mark.system

KILLS = int(os.environ.get("RAG_REPEATS", "5"))
AT_ONCE = 1
"""Requests that the generator sends at the same time: a kill loses at most these."""
AXES = """\
  system:
    assay: preset=assay embedder=hashing generator=extractive
    plain: preset=none embedder=hashing generator=openai generator.runtime.concurrency=1
  k: k=2,3"""

FORKED = Path(__file__).parents[1] / "support/forked_sweeps.py"


class Nursery:
    """A process that starts sweeps quickly."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, str(FORKED), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.said() == "ready"

    def said(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def sweeps(self, folder: Path, at_once: int = 1, after: float | None = None) -> list[int]:
        """The exit codes of sweeps that start together; the first is killed after some seconds, if these are given."""
        assert self.process.stdin
        self.process.stdin.write(f"{at_once} {folder}\n")
        self.process.stdin.flush()
        children, begun = sorted((self.said(), self.said()))
        assert begun == "begun", (folder / "0.err").read_text("utf-8")
        began = time.monotonic()
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):
                os.killpg(int(children.split()[0]), signal.SIGKILL)
        codes = [int(code) for code in self.said().split()]
        self.took = time.monotonic() - began
        return codes


def slowly(question: str) -> str:
    time.sleep(0.1)
    return f"It is {len(question)} [1]."


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Nursery, Script]]:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with serving(answer(slowly, {"prompt_tokens": 90, "completion_tokens": 10})) as script:
        ask_of(script, monkeypatch)
        started = Nursery(study(tmp_path / "nursery"))
        yield started, script
        started.process.stdin.close()
        started.process.wait(60)


def study(folder: Path) -> Path:
    """A folder with the experiment; the documents are shared by all of them."""
    golden = folder.parent / "golden"
    if not golden.exists():
        write_golden(golden)
        for name, data in (("manual.docx", docx()), ("leaflet.pdf", pdf())):
            (golden / "documents" / name).write_bytes(data)
    folder.mkdir()
    path = write_experiment(folder / "study.yaml", golden, AXES)
    path.write_text(
        path.read_text("utf-8")
        .replace("split: all", "split: all\ncontrols: false")
        .replace(", generator=none", "")
        .replace(", embedder.dimensions=64", ""),
        "utf-8",
    )
    return folder


def told(folder: Path, number: int = 0) -> dict[str, Any]:
    written = (folder / f"{number}.err").read_text("utf-8")
    assert re.sub(r"generator asks \S+ with OPENAI_API_KEY\.\n", "", written) == ""
    return json.loads((folder / f"{number}.out").read_text("utf-8"))


def runs(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / ".rag/mlflow.db")) as database:
        return database.execute("SELECT name, status FROM runs WHERE status != 'KILLED' ORDER BY name").fetchall()


def kept(folder: Path) -> set[str]:
    """The keys in a store, each of which can be read."""
    store = Store(str(folder / ".rag/store"))
    keys = {key for _, key in entries(store)} if (folder / ".rag/store").exists() else set()
    assert [key for key in keys if store.read(key) is None] == []
    return keys


def test_a_sweep_that_was_killed_at_drawn_moments_loses_nothing(nursery: tuple[Nursery, Script], tmp_path: Path) -> None:
    start, script = nursery
    whole, chance = study(tmp_path / "whole"), random.Random(26)
    # Two at once on nothing share the work, the replies and the runs.
    assert start.sweeps(whole, at_once=2) == [0, 0], (whole / "0.err").read_text("utf-8")
    took, expected, needed = start.took, told(whole), len(script.asked)
    assert sum(told(whole, number)["stages"]["ran"] for number in (0, 1)) == expected["stages"]["distinct"]
    assert told(whole, 1)["trials"] == expected["trials"]
    assert len({json.dumps(body, sort_keys=True) for body in script.asked}) == needed
    kills = folders = 0
    while kills < KILLS:
        folders += 1
        folder, here, before, asked = study(tmp_path / str(folders)), 0, set[str](), len(script.asked)
        while kills < KILLS and start.sweeps(folder, after=chance.random() * took) == [-signal.SIGKILL]:
            kills, here, after = kills + 1, here + 1, kept(folder)
            assert before <= after, "a kill lost entries"
            before = after
        # One of two that run at once is killed as well.
        assert start.sweeps(folder, at_once=2, after=chance.random() * took)[1] == 0
        assert told(folder, 1)["trials"] == expected["trials"]
        assert before <= kept(folder)
        assert runs(folder) == runs(whole)
        assert len(script.asked) - asked <= needed + (here + 1) * AT_ONCE
        asked = len(script.asked)
        assert start.sweeps(folder) == [0]
        assert told(folder)["stages"]["ran"] == 0
        assert told(folder)["trials"] == expected["trials"]
        assert len(script.asked) == asked
        assert list((folder / ".rag").rglob("*.tmp")) == []
    sys.stderr.write(f"{kills} kills in {folders} folders, {len(script.asked)} requests, {needed} of them needed by a sweep\n")
