"""Runs a plan through Dask: in this process, in several, or on a cluster with a shared store.

A task returns an outcome, also where its stage fails: that takes with it what rests on it, and nothing else. Only a store that
cannot be used raises, and ends the sweep. Whoever runs a stage holds its claim, so two sweeps on one store do not do the same
work twice.
"""

import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

from dask.local import get_sync

from rag import workers
from rag.errors import BudgetError, ConfigError, StoreError, UserError, closest
from rag.golden import Golden
from rag.graph import Graph, Stage
from rag.jobs import Job
from rag.plan import Plan, golden_of
from rag.runners import RUNNERS
from rag.store import Entry, Store

KEPT_BYTES = 256 * 2**20
"""Stage results that a process keeps in memory for the stages that read them next."""


@dataclass(frozen=True)
class Outcome:
    """What became of a stage. `seconds` and `cpu` are its own, without reading inputs and writing results.

    `stopped` is one that what may be spent on models did not reach for, or that rests on such a one.
    """

    key: str
    status: Literal["ran", "reused", "failed", "blocked", "stopped"]
    seconds: float = 0.0
    cpu: float = 0.0
    error: str = ""


Listener = Callable[[str, Outcome | None], None]
"""Told of every stage: with None when it starts, with its outcome when it is over."""


@dataclass
class Recent:
    """The last results of this process, up to KEPT_BYTES."""

    entries: "OrderedDict[str, Entry]" = field(default_factory=OrderedDict)
    size: int = 0

    def get(self, key: str) -> Entry | None:
        """A result that is still here."""
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)

    def put(self, key: str, entry: Entry) -> None:
        """Keep a result; let go of the oldest."""
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
        """Run a stage, or find it done; a failure is an outcome too."""
        try:
            return self.complete(key)
        except StoreError:
            raise  # What else is computed would be lost as well.
        except BudgetError as error:
            return Outcome(key, "stopped", error=str(error))
        except UserError as error:
            return Outcome(key, "failed", error=str(error))
        except Exception:  # A stage's own mistake must not end the sweep; its traceback is shown with the failed trials.
            return Outcome(key, "failed", error=traceback.format_exc())

    def complete(self, key: str) -> Outcome:
        """As `run`, but a failure raises. Inputs are fetched or, if they were damaged, computed again."""
        stage = self.graph.stages[key]
        if self.store.has(stage.entry):
            return Outcome(key, "reused")
        inputs = {name: self.obtain(source) for name, source in stage.inputs.items() if source in self.graph.stages}
        with self.store.claim(stage.entry):
            if self.store.has(stage.entry):
                return Outcome(key, "reused")
            began, cpu = time.perf_counter(), time.process_time()
            entry = RUNNERS[stage.name](self._job(stage, inputs))
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            self._keep(stage, entry, seconds, cpu)
        return Outcome(key, "ran", seconds, cpu)

    def obtain(self, key: str) -> Entry:
        """A stage's result: from memory, from the store, or computed (again)."""
        stage = self.graph.stages[key]
        entry = self.recent.get(key) or self.store.read(stage.entry)
        if entry is None:
            self.complete(key)
            entry = self.recent.get(key) or self.store.read(stage.entry)
            if entry is None:
                raise ConfigError(stage.label, "cannot be read back from the store", "check the disk: rag store verify")
        if key not in self.recent.entries:
            self.recent.put(key, entry)
        return entry

    def _job(self, stage: Stage, inputs: Mapping[str, Entry]) -> Job:
        golden = golden_of(self.graph, stage, self.goldens)
        return Job(stage.nodes, stage.values, inputs, golden, self.graph.components, self.store)

    def _keep(self, stage: Stage, entry: Entry, seconds: float, cpu: float) -> None:
        cost = {"name": stage.name, "seconds": seconds, "cpu": cpu, "bytes": _bytes(entry)}
        self.store.write(stage.entry, Entry(entry.arrays, {**entry.meta, "cost": cost}))
        self.recent.put(stage.key, entry)


class Executor(Protocol):
    """A place where stages run."""

    def run(self, plan: Plan, store: Store, listen: Listener) -> dict[str, Outcome]:
        """Run what the plan says must run; an outcome per stage. KeyboardInterrupt passes through, what ran is stored."""
        ...


def run_task(runner: Runner, key: str, listen: Listener | None, inputs: Sequence[Outcome]) -> Outcome:
    """One stage as a Dask task, after the outcomes of its inputs."""
    broken = next((outcome for outcome in inputs if outcome.error), None)
    if listen:
        listen(key, None)
    outcome = _after(key, broken) if broken else runner.run(key)
    if listen:
        listen(key, outcome)
    return outcome


def _after(key: str, broken: Outcome) -> Outcome:
    return Outcome(key, "stopped" if broken.status == "stopped" else "blocked", error=broken.error)


def task_graph(plan: Plan) -> dict[str, list[str]]:
    """Every stage that must run, and those among its inputs that must run too."""
    chosen = set(plan.to_run)
    return {key: [source for source in plan.stages[key].inputs.values() if source in chosen] for key in plan.to_run}


class InlineExecutor:
    """Runs stages one after the other in this process."""

    def run(self, plan: Plan, store: Store, listen: Listener) -> dict[str, Outcome]:
        """Run what must run, in the order that frees results soonest."""
        runner = Runner(plan.graph, plan.goldens, store)
        # The key goes in by partial: as an argument Dask would take it for the task's own result.
        tasks = {key: (partial(run_task, runner, key, listen), inputs) for key, inputs in task_graph(plan).items()}
        return dict(zip(tasks, get_sync(tasks, list(tasks)), strict=True)) if tasks else {}


class ClusterExecutor:
    """Runs stages on a Dask cluster: one of this machine's processes, or one that runs already and shares the store."""

    def __init__(self, workers: int = 2, address: str | None = None) -> None:
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise ConfigError("execute.workers", f"is {workers!r}", "a whole number from 1")
        self.workers, self.address = workers, address

    def run(self, plan: Plan, store: Store, listen: Listener) -> dict[str, Outcome]:
        """Run what must run, as soon as its inputs are there and a worker is free."""
        if not plan.to_run:
            return {}
        with workers.scheduler(self.address) if self.address else workers.processes(self.workers) as client:
            return self._run(client, Runner(plan.graph, plan.goldens, store), task_graph(plan), listen)

    def _run(self, client: Any, runner: Runner, tasks: Mapping[str, list[str]], listen: Listener) -> dict[str, Outcome]:
        from distributed import as_completed

        # One runner per worker process: models and recent results stay with it from task to task.
        shared = client.scatter(runner, broadcast=True)
        futures: dict[str, Any] = {}
        for key, inputs in tasks.items():
            listen(key, None)
            sources = [futures[source] for source in inputs]
            futures[key] = client.submit(run_task, shared, key, None, sources, key=key, pure=False)
        outcomes: dict[str, Outcome] = {}
        for future in as_completed(futures.values()):
            outcome = future.result() if future.status == "finished" else _lost(future)
            outcomes[outcome.key] = outcome
            listen(outcome.key, outcome)
        return outcomes


def _lost(future: Any) -> Outcome:
    error = future.exception()
    if isinstance(error, StoreError):
        raise error
    return Outcome(future.key, "failed", error=f"its worker was lost: {error}")


def executor_of(settings: Mapping[str, Any]) -> Executor:
    """The place that the `execute` part of a config names."""
    known = ("mode", "workers", "address")
    for name in settings:
        if name not in known:
            raise ConfigError(f"execute.{name}", "is no setting of a place to run", closest(str(name), known))
    if settings.get("mode") == "inline":
        return InlineExecutor()
    if settings.get("mode") == "cluster" and not settings.get("address"):
        raise ConfigError("execute.address", "is not given", "for example execute.address=tcp://127.0.0.1:8786")
    if settings.get("mode") in ("processes", "cluster"):
        return ClusterExecutor(settings.get("workers", 2), settings.get("address"))
    raise ConfigError("execute", f"is {settings.get('mode')!r}", "inline, processes or cluster")
