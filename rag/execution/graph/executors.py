"""Runs a plan: in this process, or on Dask in several processes or on a cluster that shares the store.

Every stage gives an outcome. A stage that fails blocks the stages that need it, and no others. Only a store that cannot be
used raises, and ends the run.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from rag.config.servers import check_place
from rag.core.checks import check_choice, check_whole
from rag.core.errors import ConfigError, StoreError
from rag.execution.graph import dask_cluster
from rag.execution.graph.engine import Outcome, Runner
from rag.execution.graph.plan import Plan, record_rates
from rag.execution.store.store import Store

Listener = Callable[[str, Outcome | None], None]
"""Called with None when a stage starts, and with its outcome when it ends."""

Watch = Callable[[Plan], AbstractContextManager[Listener]]
"""Shows the progress of a plan while its block runs."""


def run_stage(runner: Runner, key: str, inputs: Sequence[Outcome]) -> Outcome:
    """Run one stage after its inputs; where one of these did not end, the stage is blocked."""
    broken = next((outcome for outcome in inputs if outcome.error), None)
    if broken is None:
        return runner.run(key)
    return Outcome(key, "stopped" if broken.status == "stopped" else "blocked", error=broken.error)


def task_graph(plan: Plan) -> dict[str, list[str]]:
    """Every stage that must run, inputs first, with those of its inputs that must run too."""
    chosen = set(plan.to_run)
    return {key: [source for source in plan.stages[key].inputs.values() if source in chosen] for key in plan.to_run}


class InlineExecutor:
    """Runs stages one after the other in this process."""

    def run(self, plan: Plan, store: Store, listen: Listener) -> dict[str, Outcome]:
        """Run what must run, trial by trial; outcomes by stage. KeyboardInterrupt passes through; results so far are stored."""
        runner, outcomes = Runner(plan.graph, plan.goldens, store), dict[str, Outcome]()
        for key, inputs in task_graph(plan).items():
            listen(key, None)
            outcomes[key] = run_stage(runner, key, [outcomes[source] for source in inputs])
            listen(key, outcomes[key])
        return outcomes


class ClusterExecutor:
    """Runs stages on a Dask cluster: processes of this machine, or a cluster at `address` that shares the store."""

    def __init__(self, workers: int = 2, address: str | None = None) -> None:
        check_whole("execute.workers", workers, 1)
        self.workers, self.address = workers, address

    def run(self, plan: Plan, store: Store, listen: Listener) -> dict[str, Outcome]:
        """Run every stage as soon as its inputs are stored and a worker is free."""
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
            futures[key] = client.submit(run_stage, shared, key, sources, key=key, pure=False)
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


def executor_of(settings: Mapping[str, Any]) -> InlineExecutor | ClusterExecutor:
    """The executor that the `execute` part of a config names; ConfigError for settings that do not exist."""
    for name in settings:
        check_choice("execute", name, ("mode", "workers", "address"))
    check_choice("execute.mode", settings.get("mode"), ("inline", "processes", "cluster"))
    if settings["mode"] == "inline":
        return InlineExecutor()
    if settings["mode"] == "cluster" and not settings.get("address"):
        raise ConfigError("execute.address", "is not given", "for example execute.address=tcp://127.0.0.1:8786")
    if address := str(settings.get("address") or ""):
        check_place("execute.address", address if "://" in address else f"tcp://{address}")
    return ClusterExecutor(settings.get("workers", 2), settings.get("address"))


@dataclass(frozen=True)
class Ran:
    """The outcomes of the stages of a plan; `interrupted` by Ctrl-C, `stopped` by a store that cannot be used."""

    outcomes: Mapping[str, Outcome]
    interrupted: bool = False
    stopped: StoreError | None = None

    @property
    def exhausted(self) -> str:
        """The message of a stage that stopped because the budget is spent; empty if none did."""
        return next((outcome.error for outcome in self.outcomes.values() if outcome.status == "stopped"), "")

    @property
    def complete(self) -> bool:
        """Whether no stage is left to run: neither Ctrl-C, nor the budget, nor the store ended the run."""
        return not (self.interrupted or self.stopped or self.exhausted)

    def checked(self) -> Mapping[str, Outcome]:
        """The outcomes; KeyboardInterrupt or StoreError where one of them ended the run."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self.stopped:
            raise self.stopped
        return self.outcomes


def run_watched(plan: Plan, store: Store, settings: Mapping[str, Any], watch: Watch) -> Ran:
    """As `carry_out`, shown by `watch`."""
    try:
        with watch(plan) as listen:
            return carry_out(plan, store, settings, listen)
    except KeyboardInterrupt:
        return Ran({}, interrupted=True)


def carry_out(plan: Plan, store: Store, settings: Mapping[str, Any], listen: Listener) -> Ran:
    """Run what must run, and record how fast stages ran. Results are stored as they come, also when the run is ended early."""
    outcomes: dict[str, Outcome] = {}

    def note(key: str, outcome: Outcome | None) -> None:
        if outcome is not None:
            outcomes[key] = outcome
        listen(key, outcome)

    for key in plan.stages.keys() - set(plan.to_run):
        store.touch(plan.stages[key].entry)  # its age counts from its last use
    interrupted = False
    try:
        outcomes |= executor_of(settings).run(plan, store, note)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        return Ran(outcomes, stopped=error)
    record_rates(plan, {key: outcome.seconds for key, outcome in outcomes.items() if outcome.status == "ran"}, store)
    return Ran(outcomes, interrupted)
