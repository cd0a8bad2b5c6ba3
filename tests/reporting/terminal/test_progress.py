"""Bars and lines of long work: an estimate from the steps that were done last, and no bars of libraries in files."""

import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from rich.console import Console
from support.corpora import text_folder
from support.small_set import write_golden

from rag.components.embedders.hashing import HashingEmbedder
from rag.core.progress import WATCH
from rag.core.types import Message, Query, Reply, Request
from rag.execution.graph.engine import Outcome
from rag.execution.graph.stage_graph import Stage
from rag.execution.store.cached_replies import StoredGenerator
from rag.execution.store.cached_vectors import StoredEmbedder
from rag.execution.store.store import Store
from rag.reporting.terminal import progress
from rag.reporting.terminal.progress import WINDOW, SweepProgress, WorkProgress


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_left_is_that_of_the_last_parsed_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", clock := Clock())
    screen = io.StringIO()
    monkeypatch.setattr(progress, "err", Console(file=screen, force_terminal=True, width=100))
    with WorkProgress(1000) as bar:
        for _ in range(400):
            bar(True)
        assert bar.seconds_left() == 0
        assert screen.getvalue() == ""
        for _ in range(100):
            clock.now += 0.5
            bar(False)
        assert bar.seconds_left() == pytest.approx(500 * 0.5)
        for _ in range(WINDOW):
            clock.now += 2.0
            bar(False)
        assert bar.seconds_left() == pytest.approx((500 - WINDOW) * 2.0)
    assert "files parsed" in screen.getvalue()
    assert "872 s left" in screen.getvalue()


def test_every_file_of_a_load_is_counted_and_the_end_is_seen(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text("words")
    seen: list[object] = []

    @contextmanager
    def watch(total: int) -> Iterator[Callable[[bool], None]]:
        seen.append(total)
        yield seen.append
        seen.append("end")

    token = WATCH.set(watch)
    try:
        list(text_folder(str(tmp_path)).load())
    finally:
        WATCH.reset(token)
    assert seen == [5, *[False] * 5, "end"]


class Stages:
    """A plan of four stages, of which one is known to take 7 seconds."""

    to_run = ("a", "b", "c", "d")
    stages: ClassVar[dict[str, Any]] = {key: Stage(key, f"stage {key}", {}, {}, {}) for key in (*to_run, "e")}
    estimate = SimpleNamespace(by_stage={"c": 7.0})


def test_without_a_terminal_lines_say_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line comes after PAUSE, also for short pieces of work, and inner work is behind outer work."""
    screen = io.StringIO()
    monkeypatch.setattr(progress, "err", Console(file=screen, width=40))
    monkeypatch.setattr(progress, "PAUSE", 0.25)
    monkeypatch.setattr(progress.Work, "due", 0.0)
    for _ in range(8):
        with WorkProgress(2000, "vectors") as work:
            work(False, 512)
            time.sleep(0.1)
    short = screen.getvalue().splitlines()
    assert {line.partition(" (")[0] for line in short} == {"vectors: 512 of 2,000"}
    assert len(short) < 8, "not one for each piece"
    with SweepProgress(cast(Any, Stages)) as sweep:
        sweep("a", Outcome("a", "ran"))
        sweep("b", None)
        with WorkProgress(10, "replies") as work:
            work(False)
            time.sleep(0.5)
    label = Stages.stages["b"].label
    said = screen.getvalue().splitlines()[len(short) :]
    assert said[0].startswith(f"{label}: 1 of 4 stages (25 %), 7 s left, 1 reused; replies: 1 of 10 (10 %), ")
    assert said[0].endswith(" s left"), "one line, however long"
    assert len(set(said)) == 1
    assert not progress.Work.running


class Echo:
    """Answers with what it is asked."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(request.query.text, ()) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        yield request.query.text


def test_what_models_compute_is_counted(tmp_path: Path) -> None:
    """Vectors and replies by the kind of work; a stored result is no work."""
    seen: list[tuple[object, ...]] = []

    @contextmanager
    def watch(total: int, what: str) -> Iterator[Callable[..., None]]:
        yield lambda is_stored, items: seen.append((what, items, total))

    token = WATCH.set(watch)
    try:
        store = Store(str(tmp_path))
        requests = [Request(Query(f"q{number}", "?"), (), (Message("user", f"{number}?"),)) for number in range(20)]
        for _ in range(2):
            StoredEmbedder(HashingEmbedder(), store, "it").embed_documents([f"text {number}" for number in range(300)])
            StoredGenerator(Echo(), store, "it").generate(requests)
    finally:
        WATCH.reset(token)
    assert seen == [("vectors", 256, 300), ("vectors", 44, 300), ("replies", 16, 20), ("replies", 4, 20)]


SCRIPT = """
import sys
from rag import cli

def run(*arguments):
    sys.argv = ["rag", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)

run("run", "--no-track", *"dataset=native dataset.path=golden embedder=hashing latency=0 generator=none".split())

import huggingface_hub.utils
import mlflow.environment_variables as mlflow
import tqdm.auto

list(tqdm.auto.tqdm(range(3), desc="as model2vec draws it"))
list(huggingface_hub.utils.tqdm(range(3), desc="as the hub draws it"))
assert not mlflow.MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR.get()
"""


@pytest.mark.system
def test_no_bar_is_drawn_into_a_file(here: Path) -> None:
    write_golden(here / "golden")
    with Path("err.txt").open("wb") as file:
        done = subprocess.run([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=file, check=False, timeout=300)
    said = Path("err.txt").read_bytes().decode()
    assert done.returncode == 0, said
    assert b"recall@5" in done.stdout
    assert [mark for mark in ("\r", "\x1b", "%|", "it/s", "━", "█") if mark in said] == [], said
