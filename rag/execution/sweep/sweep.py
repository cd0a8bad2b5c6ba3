"""Plan, run, rank and write down an experiment: what `rag sweep` and `rag study run` do."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.config.compose import compose
from rag.config.experiment import Experiment
from rag.config.resolver import Resolver
from rag.core.assessments import Spent
from rag.core.files import replace_text, writing
from rag.core.redaction import redacted_json
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener, Ran, carry_out, executor_of
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store import maintenance
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, leaderboard, selection
from rag.execution.sweep.leaderboard import Leaderboard
from rag.execution.sweep.reopen import REPORTS as REPORTS


@dataclass(frozen=True, kw_only=True)
class Sweep(Ran):
    """A sweep that ended, or was ended early: by Ctrl-C, its budget, or a store that cannot be used.

    `spent` is what models took in this run; stored results cost nothing.
    """

    plan: Plan
    board: Leaderboard
    spent: Spent = field(default_factory=Spent)

    def counts(self) -> dict[str, int]:
        """Stages by status. `reused` counts those that did not have to run; stages in no count are still to run."""
        statuses = [outcome.status for outcome in self.outcomes.values()]
        counts = {status: statuses.count(status) for status in ("ran", "failed", "blocked", "reused")}
        counts["reused"] += len(self.plan.stages) - len(self.plan.to_run)
        return {"distinct": len(self.plan.stages)} | counts

    def to_json(self) -> dict[str, Any]:
        """The output of `rag sweep --json`."""
        expected = self.plan.estimate.spending
        return self.board.to_json() | {
            "measured": self.board.measured(),
            "stages": self.counts(),
            "stage_seconds": round(sum(outcome.seconds for outcome in self.outcomes.values()), 4),
            "cpu_seconds": round(sum(outcome.cpu for outcome in self.outcomes.values()), 4),
            "errors": {row.name: row.error for row in self.board.rows if row.error},
            "failures": {row.name: list(row.failures) for row in self.board.rows if row.failures},
            "spent": spending_json(self.spent),
            "estimated": spending_json(expected.likely) | {"most": spending_json(expected.most)},
            "interrupted": self.interrupted,
            "exhausted": self.exhausted,
        }


def spending_json(spent: Spent) -> dict[str, Any]:
    """Tokens and cost as JSON values; an unknown cost is null."""
    return {"tokens": spent.tokens, "cost_usd": None if math.isnan(spent.cost) else round(spent.cost, 6)}


@dataclass(frozen=True)
class Prepared:
    """A plan, its store and the settings of its executor, checked before anything is spent."""

    plan: Plan
    store: Store
    settings: Mapping[str, Any]

    @property
    def trial(self) -> PlannedTrial:
        """The first trial, of a plan that has only one."""
        return self.plan.trials[0]


def prepare(experiment: Experiment, parses: bool = True) -> Prepared:
    """Plan an experiment; UserError where it, its store, its objective or its executor is not valid.

    UnparsedError where files of a corpus are not parsed yet and `parses` is False.
    """
    store, settings = store_of(experiment)
    made = plan.make(experiment, store, parses)
    selection.rule.selection_rule(made, leaderboard.objective_of(made))
    ablations.check(made)
    return Prepared(made, store, settings)


def store_of(experiment: Experiment) -> tuple[Store, Mapping[str, Any]]:
    """The store and the executor settings that an experiment's fixed overrides name; UserError where they are not valid."""
    config, resolver = compose(experiment.fixed), Resolver()
    settings = resolver("execute", config)
    executor_of(settings)
    return maintenance.at(resolver("store", config)), settings


def run(made: Plan, store: Store, settings: Mapping[str, Any], listen: Listener) -> Sweep:
    """Carry out a plan and rank its trials; Ctrl-C leaves a partial leaderboard."""
    ran = carry_out(made, store, settings, listen)
    board = leaderboard.build_leaderboard(made, ran.outcomes, store)
    spent = Spent() if ran.stopped else made.ledger.spent() + _timing(made, ran, store)
    return Sweep(**vars(ran), plan=made, board=board, spent=spent)


def _timing(made: Plan, ran: Ran, store: Store) -> Spent:
    """What models took while they were timed: that is not in the ledger, because timed requests bypass the stored replies."""
    timed = [key for key, outcome in ran.outcomes.items() if outcome.status == "ran" and made.stages[key].name == "latency"]
    metas = [store.read_meta(made.stages[key].entry) for key in timed]
    return sum((Spent(**meta["spent"]) for meta in metas if meta), Spent())


def folder_of(sweep: Sweep, folder: Path = REPORTS) -> Path:
    """The folder of the files of a sweep."""
    return folder / sweep.plan.experiment.name


def write(sweep: Sweep, folder: Path = REPORTS) -> Path:
    """Write leaderboard.json, measured.json and trials.json of a sweep; the folder they are in.

    StoreError where they cannot be written: the results are in the store all the same.
    """
    place = folder_of(sweep, folder)
    trials = [
        {"trial": trial.trial_id, "name": trial.trial.name, "choices": dict(trial.trial.choices)}
        | {"config": redacted_json(trial.trial.config), "score": trial.ends.score}
        | {"overrides": redacted_json(sweep.plan.experiment.typed[1:])}
        for trial in sweep.plan.trials
    ]
    for name, content in (("leaderboard", sweep.board.to_json()), ("measured", sweep.board.measured()), ("trials", trials)):
        write_report(place / f"{name}.json", content)
    return place


def write_report(path: Path, content: Any) -> None:
    """Write one JSON file of a report, of which a reader sees the old one or the new one; StoreError where that cannot be."""
    with writing(path.parent, "the results are in the store: fix that and run again"):
        replace_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
