"""What measurements share: rows of the table, clocks, commands, sweeps, and the public sets."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.config.build import Components
from rag.config.experiment import Experiment, load
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.evaluation.scores import Scores
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep, trial_scores
from rag.execution.sweep.open_config import config_of
from rag.execution.sweep.sweep import Sweep

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RAG_DATA") or ROOT.parent / "shared" / "data").resolve()
HANDBOOK = ROOT / "datasets" / "handbook"


@dataclass(frozen=True)
class Row:
    """A figure, and the figure of the same run (or of a publication) that it is compared with."""

    what: str
    value: float
    unit: str
    against: str = ""
    other: float | None = None
    note: str = ""


Rows = Iterator[Row]
Measurement = Callable[[Path], Rows]
"""Measures in an empty working folder, and yields its rows."""


class MissingSetError(Exception):
    """A public set that is not in RAG_DATA; the measurement is left out."""


def public(name: str) -> Path:
    """The folder of a public set; MissingSetError without it."""
    if not (DATA / name).exists():
        raise MissingSetError(f"no {name} in RAG_DATA")
    return DATA / name


@dataclass(frozen=True)
class Finished:
    """Processor and wall-clock seconds of a process, its largest memory in kB, and the JSON that it printed."""

    cpu: float
    wall: float
    memory: int
    content: dict[str, Any]

    @property
    def told(self) -> str:
        """Its wall clock, and its memory where it is larger than that of this process, from which it was forked."""
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return f"{self.wall:.1f} s wall" + (f", {self.memory / 1e3:.0f} MB" if self.memory > 1.1 * own else "")


def run(*command: str) -> Finished:
    """Run a command from its start to its end, in the working folder; OSError with its errors if it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        wall = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - wall
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, err):
            file.seek(0)
        if process.returncode:
            raise OSError(f"{' '.join(command[1:6])} ended with {process.returncode}: {err.read().decode()[-2000:]}")
        content = json.loads(out.read()) if "--json" in command else {}
    return Finished(used.ru_utime + used.ru_stime, wall, used.ru_maxrss, content)


def rag(*arguments: str) -> Finished:
    """Run `rag` in a process of its own."""
    return run(sys.executable, "-m", "rag", *arguments)


def cpu_seconds(work: Callable[[], object], times: int = 1) -> float:
    """The fewest processor seconds of some repetitions in this process, all threads counted."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def declared(name: str, dataset: str, fixed: Sequence[str], axes: dict[str, Any]) -> str:
    """Write an experiment over all questions into the working folder; its path, as `rag sweep` takes it. JSON is YAML."""
    content = {"question": f"{name}?", "dataset": dataset, "split": "all", "fixed": list(fixed), "axes": axes}
    path = Path(f"{name}.yaml").resolve()
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def swept(experiment: str | Experiment, *overrides: str) -> tuple[Sweep, Store]:
    """A whole sweep in this process, inline and untracked; every trial must end well."""
    study = load(experiment, overrides) if isinstance(experiment, str) else experiment
    store, _ = sweep.store_of(study)
    done = sweep.run(plan.make(study, store), store, {"mode": "inline"}, lambda key, outcome: None)
    errors = [row.error for row in done.board.rows if row.status != "done"]
    if errors:
        raise ValueError(f"trials failed: {errors}")
    return done, store


def scores_by_trial(done: Sweep, store: Store) -> dict[str, Scores]:
    """The scores of every trial by its name."""
    return {each.trial.name: trial_scores.read_scores(each, done.plan, store).scores for each in done.plan.trials}


def golden_of(*overrides: str) -> Golden:
    """The golden set of a configuration."""
    config, components = config_of(list(overrides)), Components()
    return golden_sets.load(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))


def chosen(role: str, name: str) -> Any:
    """A shipped choice, built from its configuration as a pipeline builds it."""
    return Components().role(role, config_of([f"{role}={name}"])[role])
