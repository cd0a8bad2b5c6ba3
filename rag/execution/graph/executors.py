"""Runs a plan through Dask: in this process, in several, or on a cluster with a shared store.

A task returns an outcome, also where its stage fails: that takes with it what rests on it, and nothing else. Only a store that
cannot be used raises, and ends the sweep.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from dask.local import get_sync

from rag.core.errors import ConfigError, StoreError, closest
from rag.execution.graph import dask_cluster
from rag.execution.graph.engine import Outcome, Runner
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store

Listener = Callable[[str, Outcome | None], None]
"""Told of every stage: with None when it starts, with its outcome when it is over."""


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
        with dask_cluster.scheduler(self.address) if self.address else dask_cluster.processes(self.workers) as client:
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
