"""Runs the stages of one graph against one store, in one process.

The imports of this module reach all code between the inputs of a stage and its stored result, so every key holds a hash of it
(`rag.execution.graph.stage_graph`). A runner locks the stage that it runs: two sweeps on one store do not compute it twice.
"""

import time
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag.core.errors import BudgetError, ConfigError, StoreError, UserError
from rag.evaluation.data.golden import Golden
from rag.execution.graph.stage_functions import RUNNERS
from rag.execution.graph.stage_graph import Graph, Stage, golden_of, stage_code
from rag.execution.graph.stage_inputs import Job
from rag.execution.store.store import Entry, Store

KEPT_BYTES = 256 * 2**20
"""Bytes of stage results that a process keeps in memory for the stages that read them next."""


@dataclass(frozen=True)
class Outcome:
    """How a stage ended. `seconds` and `cpu` leave out reading inputs and writing results.

    `blocked`: an input failed. `stopped`: the budget for models was spent, for this stage or for an input.
    """

    key: str
    status: Literal["ran", "reused", "failed", "blocked", "stopped"]
    seconds: float = 0.0
    cpu: float = 0.0
    error: str = ""


def cause_of(error: str) -> str:
    """The message of an error: the last line of a traceback, the first line of an error of ours; empty without one."""
    lines = error.strip().splitlines() or [""]
    return lines[-1 if lines[0].startswith("Traceback") else 0]


@dataclass
class Recent:
    """The last results of this process, up to KEPT_BYTES."""

    entries: "OrderedDict[str, Entry]" = field(default_factory=OrderedDict)
    size: int = 0

    def get(self, key: str) -> Entry | None:
        """A result that is still in memory."""
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)

    def put(self, key: str, entry: Entry) -> None:
        """Keep a result; drop the oldest beyond KEPT_BYTES."""
        self.entries[key] = entry
        self.size += _bytes(entry)
        while self.size > KEPT_BYTES and self.entries:
            self.size -= _bytes(self.entries.popitem(last=False)[1])


def _bytes(entry: Entry) -> int:
    return sum(array.nbytes for array in entry.arrays.values())


@dataclass
class Runner:
    """Runs stages of one graph against one store, in one process."""

    graph: Graph
    goldens: Mapping[str, Golden]
    store: Store
    recent: Recent = field(default_factory=Recent)

    def run(self, key: str) -> Outcome:
        """Run a stage unless its result is stored; a failure is an outcome too."""
        try:
            return self.complete(key)
        except StoreError:
            raise  # No other result could be stored either.
        except BudgetError as error:
            return Outcome(key, "stopped", error=str(error))
        except UserError as error:
            return Outcome(key, "failed", error=str(error))
        except MemoryError as error:
            what = f"takes more memory than there is ({error})"
            problem = ConfigError(self.graph.stages[key].label, what, "lower its parameters, or run fewer workers")
            return Outcome(key, "failed", error=str(problem))
        except Exception:  # An error in one stage must not end the sweep; the failed trials show its traceback.
            return Outcome(key, "failed", error=traceback.format_exc())

    def complete(self, key: str) -> Outcome:
        """As `run`, but a failure raises. Inputs are read or, where they are damaged, computed again."""
        stage = self.graph.stages[key]
        if self.store.has(stage.entry):
            return Outcome(key, "reused")
        job = self.job(key)
        with self.store.claim(stage.entry):
            if self.store.has(stage.entry):
                return Outcome(key, "reused")
            began, cpu = time.perf_counter(), time.process_time()
            entry = RUNNERS[stage.name](job)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            self._write(stage, entry, seconds, cpu)
        return Outcome(key, "ran", seconds, cpu)

    def obtain(self, key: str) -> Entry:
        """A stage's result: from memory, from the store, or computed (again)."""
        stage = self.graph.stages[key]
        entry = self.recent.get(key) or self.store.read(stage.entry)
        if entry is None:
            self.complete(key)
            entry = self.recent.get(key) or self.store.read(stage.entry)
            if entry is None:
                raise ConfigError(stage.label, "cannot be read back from the store", "check the disk: rag study store verify")
        if key not in self.recent.entries:
            self.recent.put(key, entry)
        return entry

    def job(self, key: str) -> Job:
        """A stage with its inputs, ready to run."""
        stage = self.graph.stages[key]
        inputs = {name: self.obtain(source) for name, source in stage.inputs.items() if source in self.graph.stages}
        golden = golden_of(self.graph, stage, self.goldens)
        return Job(stage.nodes, stage.values, inputs, golden, self.graph.components, self.store)

    def _write(self, stage: Stage, entry: Entry, seconds: float, cpu: float) -> None:
        cost = {"name": stage.name, "seconds": seconds, "cpu": cpu, "bytes": _bytes(entry), "code": stage_code()}
        self.store.write(stage.entry, Entry(entry.arrays, {**entry.meta, "cost": cost}))
        self.recent.put(stage.key, entry)
