"""Shared by the measurements: the public data, clocks, sweeps, and a table on standard output."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rag.config.build import Components
from rag.config.experiment import Experiment, load
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.execution.graph import plan
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import config_of
from rag.execution.sweep.sweep import Sweep

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RAG_DATA") or ROOT.parent / "shared" / "data").resolve()
MODELS = ROOT / ".rag" / "models"
"""Where `embedder=static` keeps the distilled model, which takes 40 s to make."""

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}: set RAG_DATA to the folder of public data sets")


@dataclass
class Seconds:
    """Wall-clock and processor seconds of a piece of work."""

    wall: float = 0.0
    cpu: float = 0.0

    def __str__(self) -> str:
        return f"{self.wall:.2f} s wall, {self.cpu:.2f} s CPU"


@contextmanager
def timed() -> Iterator[Seconds]:
    """Time a block of this process; the figures are there when it ends."""
    taken = Seconds()
    wall, cpu = time.perf_counter(), time.process_time()
    yield taken
    taken.wall, taken.cpu = time.perf_counter() - wall, time.process_time() - cpu


@dataclass(frozen=True)
class FinishedCommand:
    """The seconds of a command, and the JSON that it printed."""

    taken: Seconds
    content: dict[str, Any]


def rag(*arguments: str) -> FinishedCommand:
    """Run `rag` in a process of its own, in the working folder, from its start to its end."""
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "rag", *arguments]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=1800, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.returncode == 0, ended.stderr
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return FinishedCommand(Seconds(time.perf_counter() - wall, cpu), json.loads(ended.stdout) if "--json" in arguments else {})


def largest() -> float:
    """Gigabytes of the largest process so far that `rag` has run."""
    # In kilobytes, on a Mac in bytes.
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)


def write_thousand(folder: Path) -> None:
    """A golden set of 200 documents with 5 questions each, in words without meaning."""
    (folder / "documents").mkdir(parents=True)
    rows = []
    for document in range(200):
        parts = [" ".join(f"w{(document * 7 + part * 11 + word * 13) % 997}" for word in range(60)) for part in range(5)]
        (folder / "documents" / f"{document}.md").write_text("\n\n".join(parts), encoding="utf-8")
        for number, part in enumerate(parts):
            places = [{"doc": f"{document}.md", "quote": part}]
            rows.append({"id": f"{document}-{number}", "text": part[:60], "evidence": [{"any": places}]})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def declared(path: Path, question: str, dataset: str, fixed: Sequence[str], axes: dict[str, Any]) -> str:
    """Write an experiment file over all questions; its path, as `rag sweep` takes it. JSON is YAML."""
    content = {"question": question, "dataset": dataset, "split": "all", "fixed": list(fixed), "axes": axes}
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def planned(experiment: str | Experiment, *overrides: str) -> tuple[Plan, Store]:
    """A plan in this process and the store that it names, as `rag sweep` makes them."""
    study = load(experiment, overrides) if isinstance(experiment, str) else experiment
    store, _ = sweep.store_of(study)
    return plan.make(study, store), store


def swept(experiment: str | Experiment, *overrides: str) -> tuple[Sweep, Store]:
    """A whole sweep in this process, inline and untracked; every trial must end well."""
    made, store = planned(experiment, *overrides)
    done = sweep.run(made, store, {"mode": "inline"}, lambda key, outcome: None)
    assert {row.status for row in done.board.rows} == {"done"}, [row.error for row in done.board.rows]
    return done, store


def golden_of(*overrides: str) -> Golden:
    """The golden set of a configuration."""
    config, components = config_of(list(overrides)), Components()
    return golden_sets.load(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))


def means(done: Sweep, column: str) -> dict[str, float]:
    """A column's mean, by trial."""
    return {row.name: row.value(column) for row in done.board.rows}


@dataclass
class Report:
    """A table in plain text: a title, a line of names, rows, notes."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def row(self, *cells: object) -> None:
        """Add a row; numbers keep four digits behind the point, None is a dash."""
        self.rows.append([_shown(cell) for cell in cells])

    def note(self, text: str) -> None:
        """Add a line below the table."""
        self.notes.append(text)

    def show(self) -> None:
        """Print it."""
        table = [list(self.columns), *self.rows]
        widths = [max(len(row[place]) for row in table) for place in range(len(self.columns))]
        lines = ["  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
        sys.stdout.write("\n" + "\n".join([self.title, "-" * len(self.title), *lines, *self.notes]) + "\n")
        sys.stdout.flush()


def _shown(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def _padded(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1].isdigit() or cell[:1] in "–-+" else cell.ljust(width)


def least_cpu(work: Callable[[], object], times: int = 3) -> float:
    """The fewest processor seconds of some repetitions."""
    taken = []
    for _ in range(times):
        with timed() as once:
            work()
        taken.append(once.cpu)
    return min(taken)


def median_seconds(work: Callable[[], object], times: int) -> float:
    """The median seconds on the wall of some repetitions."""
    taken = []
    for _ in range(times):
        with timed() as once:
            work()
        taken.append(once.wall)
    return sorted(taken)[times // 2]
