"""Plan, run and reopen experiments."""

import math
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rag.api.progress import progress
from rag.api.tables import Table
from rag.config import experiment
from rag.config.experiment import Experiment
from rag.core.errors import DataError, ServiceError
from rag.core.figures import amount, figure
from rag.execution.graph.executors import Watch
from rag.execution.graph.language_gaps import language_gaps, unread_shares
from rag.execution.graph.plan import ends_of
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, trial_scores
from rag.execution.sweep import sweep as sweeps
from rag.execution.sweep.holdout import Conclusion
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.sweep import Prepared, Sweep
from rag.tracking import sweep_runs

Show = Callable[[Sweep, Conclusion], None]


@dataclass(frozen=True)
class SweepResult:
    """A finished experiment: its trials, scores and recommendation.

    `sweep` and `conclusion` are the records that the terminal and the report read.
    """

    sweep: Sweep
    conclusion: Conclusion
    store: Store = field(repr=False)

    @property
    def recommended(self) -> str | None:
        """The id of the recommended trial, or None where nothing is recommended."""
        return self.conclusion.winner.recommended if self.conclusion.winner else None

    @cached_property
    def leaderboard(self) -> Table:
        """One row per trial, best first: id, name, choices, status, metrics with `_low` and `_high`, measured values."""
        return Table.of([_record(row) for row in self.sweep.board.rows])

    @cached_property
    def scores(self) -> Table:
        """One row per trial, question and metric; metrics that do not apply to a question have no row."""
        made = self.sweep.plan
        done = [one for one in made.trials if self.store.has(made.stages[one.ends.score].entry)]
        rows: list[tuple[Any, ...]] = []
        for result in (trial_scores.read_scores(one, made, self.store) for one in done):
            for question, values in zip(result.scores.query_ids, result.scores.values.tolist(), strict=True):
                known = zip(result.scores.columns, values, strict=True)
                rows += [
                    (result.trial_id, result.name, question, name, value) for name, value in known if not math.isnan(value)
                ]
        return Table(("trial", "name", "question", "metric", "score"), tuple(rows))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it early."""
        return self.sweep.interrupted or self.conclusion.interrupted

    def send(self, again: str) -> str:
        """Send the trials to MLflow; why the questions could not be sent, or empty. ServiceError names the command `again`."""
        return sweep_runs.send(self.sweep, self.store, again, self.conclusion.controls, self.conclusion.winner)[1]

    def to_json(self) -> dict[str, Any]:
        """Leaderboard, stages, costs and conclusion as JSON values."""
        return self.sweep.to_json() | self.conclusion.to_json()

    def __repr__(self) -> str:
        board, winner = self.sweep.board, self.conclusion.winner
        best, aim = winner and winner.of(winner.recommended), board.objective
        mean = f"{'objective' if aim.summed else aim.column} {figure(best.tune.mean)}" if best else ""
        shown = f", recommended {best.name} ({best.trial_id}): {mean}" if best else ""
        return f"SweepResult({board.experiment}, {amount(len(board.rows), 'trial')}{shown})"

    def _repr_html_(self) -> str:
        return self.leaderboard._repr_html_()


@dataclass(frozen=True)
class PlanResult:
    """The stages that a sweep would run or reuse, and estimates. Nothing was computed."""

    prepared: Prepared = field(repr=False)

    @cached_property
    def stages(self) -> Table:
        """One row per distinct stage: its step, its label, trials that need it, whether it must run, expected seconds."""
        made = self.prepared.plan
        users = Counter(key for trial in made.trials for key in made.graph.ancestors(*ends_of(trial)))
        to_run = set(made.to_run)
        seconds = made.estimate.by_stage
        return Table(
            ("step", "label", "trials", "runs", "seconds"),
            tuple((one.name, one.label, users[key], key in to_run, seconds.get(key)) for key, one in made.stages.items()),
        )

    @cached_property
    def unread(self) -> dict[str, float | None]:
        """By trial id: the share of its chunks that the embedder does not read; None where it is not known."""
        return unread_shares(self.prepared.plan, self.prepared.store)

    def to_json(self) -> dict[str, Any]:
        """Counts of trials and stages, expected seconds, tokens and cost as JSON values.

        `languages` are sentences on components that do not know the language of their trial.
        """
        return self.prepared.plan.to_json() | {"languages": list(language_gaps(self.prepared.plan))}

    def _repr_html_(self) -> str:
        return Table.of([{key: str(value) for key, value in self.to_json().items()}])._repr_html_()


def load_experiment(name: str, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment by name or path; ConfigError where it cannot be read. `overrides` are added to its fixed ones."""
    return experiment.load(name, overrides)


def plan(name: str, overrides: Sequence[str] = ()) -> PlanResult:
    """Plan an experiment; UserError for anything in it that cannot run.

    UnparsedError counts files of the corpus that are not parsed yet: before that, the keys of stages are not known.
    """
    return PlanResult(sweeps.prepare(experiment.load(name, overrides), parses=False))


def sweep(name: str, overrides: Sequence[str] = (), track: bool = True, yes: bool = False) -> SweepResult:
    """Run an experiment as `rag sweep` does: results of earlier runs are reused, files are written, MLflow gets the trials.

    Ctrl-C raises KeyboardInterrupt; what ran is stored, and the same call goes on. A failure to reach MLflow is a warning, and
    `rag study track` sends the trials later. A trial that failed has the status `failed` in the leaderboard. UserError, unless
    `yes`, where models cost money and answer none of the first questions.
    """
    result = conduct(sweeps.prepare(experiment.load(name, overrides)), progress, yes=yes)
    if result.interrupted:
        raise KeyboardInterrupt
    if track and (reason := sweep_runs.untracked()):
        warnings.warn(reason, stacklevel=2)
    elif track:
        try:
            result.send(shlex.join(["rag", "study", "track", name, *overrides]))
        except ServiceError as error:
            warnings.warn(str(error), stacklevel=2)
    return result


def open_sweep(name: str, overrides: Sequence[str] = ()) -> SweepResult:
    """Open a finished experiment from the store; DataError where a trial has not run. Nothing is computed."""
    result = recall(name, overrides)
    rows = result.sweep.board.rows
    if missing := [row.name for row in rows if row.status == "not run"]:
        what = f"{len(missing)} of {len(rows)} trials have not run, the first is {missing[0]}"
        raise DataError(f"experiment {name}", what, f"run it first: rag sweep {shlex.join([name, *overrides])}")
    return result


def recall(name: str, overrides: Sequence[str] = ()) -> SweepResult:
    """Open an experiment from the store as far as it ran. Nothing is computed."""
    ready = sweeps.prepare(experiment.load(name, overrides))
    done = sweep_runs.recall(ready.plan, ready.store)
    return SweepResult(done, holdout.reach(done, ready.store, ready.settings, None), ready.store)


def conduct(
    ready: Prepared, watch: Watch, show: Show | None = None, tell: Callable[[str], Any] = str, yes: bool = False
) -> SweepResult:
    """Run a planned experiment, conclude, show, and write its files; StoreError where store or reports cannot be used.

    `show` gets the results before they are written, so that a full disk does not lose them. `tell` and `yes` are for
    `rag.execution.sweep.smoke.check`.
    """
    ready.store.clear_orphans()
    if ready.plan.to_run:
        from rag.execution.sweep import smoke  # a sweep of stored results has no use for it

        smoke.check(ready, watch, tell, yes)
    with watch(ready.plan) as listen:
        done = sweeps.run(ready.plan, ready.store, ready.settings, listen)
    concluded = holdout.reach(done, ready.store, ready.settings, watch)
    if show:
        show(done, concluded)
    if stopped := done.stopped or concluded.stopped:
        raise stopped
    sweeps.write(done)
    holdout.write(done, concluded)
    return SweepResult(done, concluded, ready.store)


def _record(row: Row) -> Mapping[str, Any]:
    """A row of the leaderboard with one value per column."""
    metrics: dict[str, Any] = {}
    for column, found in row.metrics.items():
        metrics |= {column: found["mean"], f"{column}_low": found["low"], f"{column}_high": found["high"]}
    return {"trial": row.trial_id, "name": row.name, "status": row.status} | dict(row.choices) | metrics | dict(row.measured)
