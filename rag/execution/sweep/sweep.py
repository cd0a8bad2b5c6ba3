"""Plan, run, rank, write down, track: what `rag sweep` and `rag run` do."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.config.experiment import Experiment, Trial
from rag.core.assessments import Spent
from rag.core.errors import ConfigError, DataError, StoreError, closest
from rag.core.files import replace_text
from rag.execution.graph import plan
from rag.execution.graph.engine import Outcome
from rag.execution.graph.executors import Listener, executor_of
from rag.execution.graph.plan import Plan
from rag.execution.store import maintenance
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, leaderboard, selection
from rag.execution.sweep.leaderboard import Leaderboard

REPORTS = Path("reports")


@dataclass(frozen=True)
class Sweep:
    """A sweep that came to an end, or was stopped on the way: by Ctrl-C, its budget, or a store that cannot be used.

    `spent` is what this run asked of models: what was stored before cost nothing.
    """

    plan: Plan
    outcomes: Mapping[str, Outcome]
    board: Leaderboard
    interrupted: bool
    stopped: StoreError | None = None
    spent: Spent = field(default_factory=Spent)

    def counts(self) -> dict[str, int]:
        """Stages by what became of them; `reused` are those that did not have to run. The rest is still to run."""
        ended = [outcome.status for outcome in self.outcomes.values()]
        told = {status: ended.count(status) for status in ("ran", "failed", "blocked", "reused")}
        told["reused"] += len(self.plan.stages) - len(self.plan.to_run)
        return {"distinct": len(self.plan.stages)} | told

    def to_json(self) -> dict[str, Any]:
        """What `rag sweep --json` prints."""
        return self.board.to_json() | {
            "measured": self.board.measured(),
            "stages": self.counts(),
            "stage_seconds": round(sum(outcome.seconds for outcome in self.outcomes.values()), 4),
            "cpu_seconds": round(sum(outcome.cpu for outcome in self.outcomes.values()), 4),
            "errors": {row.name: row.error for row in self.board.rows if row.error},
            "failures": {row.name: list(row.failures) for row in self.board.rows if row.failures},
            "spent": spending_json(self.spent),
            "estimated": spending_json(self.plan.estimate.spending.likely)
            | {"most": spending_json(self.plan.estimate.spending.most)},
            "interrupted": self.interrupted,
            "exhausted": self.exhausted,
        }

    @property
    def exhausted(self) -> str:
        """That what may be spent on models is spent, in words; empty while it is not."""
        return exhausted(self.outcomes)


def exhausted(outcomes: Mapping[str, Outcome]) -> str:
    """What a stage said that stopped for want of budget; empty if none did."""
    return next((outcome.error for outcome in outcomes.values() if outcome.status == "stopped"), "")


def spending_json(spent: Spent) -> dict[str, Any]:
    """What was spent as JSON values; an unknown price is null."""
    return {"tokens": spent.tokens, "cost_usd": None if math.isnan(spent.cost) else round(spent.cost, 6)}


@dataclass(frozen=True)
class Prepared:
    """Everything that a sweep needs, checked before anything is spent."""

    plan: Plan
    store: Store
    settings: Mapping[str, Any]


def prepare(experiment: Experiment) -> Prepared:
    """Plan an experiment; raise UserError for whatever in it, its store, its objective or its place to run will not do."""
    store, settings = store_of(experiment)
    executor_of(settings)
    made = plan.make(experiment, store)
    selection.rule.selection_rule(made, leaderboard.objective_of(made))
    ablations.check(made)
    return Prepared(made, store, settings)


def store_of(experiment: Experiment) -> tuple[Store, Mapping[str, Any]]:
    """The store and the place to run that an experiment's fixed overrides name."""
    from rag.config.compose import compose, hydra_ready, resolve

    with hydra_ready():
        config = compose(experiment.fixed)
    wiring = resolve(type(config)({key: config[key] for key in ("store", "execute")}))
    return maintenance.at(wiring["store"]), wiring["execute"]


@dataclass(frozen=True)
class Ran:
    """What became of the stages of a plan; `interrupted` by Ctrl-C, `stopped` by a store that cannot be used."""

    outcomes: Mapping[str, Outcome]
    interrupted: bool = False
    stopped: StoreError | None = None


def carry_out(made: Plan, store: Store, settings: Mapping[str, Any], listen: Listener) -> Ran:
    """Run what a plan says must run. Ctrl-C ends it early; everything that ran is stored."""
    executor = executor_of(settings)
    outcomes: dict[str, Outcome] = {}

    def note(key: str, outcome: Outcome | None) -> None:
        if outcome is not None:
            outcomes[key] = outcome
        listen(key, outcome)

    interrupted, stopped = False, None
    try:
        outcomes |= executor.run(made, store, note)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        stopped = error
    spent = {key: outcome.seconds for key, outcome in outcomes.items() if outcome.status == "ran"}
    if not stopped:
        plan.record_rates(made, spent, store)
    return Ran(outcomes, interrupted, stopped)


def run(made: Plan, store: Store, settings: Mapping[str, Any], listen: Listener) -> Sweep:
    """Carry out a plan and rank its trials; Ctrl-C leaves a partial leaderboard."""
    ran = carry_out(made, store, settings, listen)
    board = leaderboard.build_leaderboard(made, ran.outcomes, store)
    spent = Spent() if ran.stopped else made.ledger.spent() + _timing(made, ran, store)
    return Sweep(made, ran.outcomes, board, ran.interrupted, ran.stopped, spent)


def _timing(made: Plan, ran: Ran, store: Store) -> Spent:
    """What the models took that were timed: they were asked past the ledger, as they are where they serve."""
    timed = [key for key, outcome in ran.outcomes.items() if outcome.status == "ran" and made.stages[key].name == "latency"]
    found = [meta["spent"] for key in timed if (meta := store.read_meta(made.stages[key].entry))]
    return sum((Spent(each["tokens"], math.nan if each["cost"] is None else each["cost"]) for each in found), Spent())


def folder_of(sweep: Sweep, folder: Path = REPORTS) -> Path:
    """Where the files of a sweep are written."""
    return folder / sweep.plan.experiment.name


def write(sweep: Sweep, folder: Path = REPORTS) -> Path:
    """Write leaderboard.json, measured.json and trials.json of a sweep; the folder they are in.

    StoreError if that cannot be: the results are in the store all the same.
    """
    place = folder_of(sweep, folder)
    trials = [
        {"trial": trial.trial_id, "name": trial.trial.name, "choices": dict(trial.trial.choices)}
        | {"config": trial.trial.config, "score": trial.ends.score}
        for trial in sweep.plan.trials
    ]
    for name, content in (("leaderboard", sweep.board.to_json()), ("measured", sweep.board.measured()), ("trials", trials)):
        write_report(place / f"{name}.json", content)
    return place


def write_report(path: Path, content: Any) -> None:
    """Write one JSON file of a report; StoreError if that cannot be."""
    try:
        write_json(path, content)
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise StoreError(str(path.parent), what, "the results are in the store: mend it and run again") from error


def write_json(path: Path, content: Any) -> None:
    """Write one JSON file so that a reader sees the old one or the new one."""
    replace_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def recorded(trial_id: str, folder: Path = REPORTS) -> Trial:
    """A trial that some sweep wrote down; a prefix of its id will do if it is the only one."""
    return looked_up(trial_id, folder)[1]


def looked_up(trial_id: str, folder: Path = REPORTS) -> tuple[str, Trial]:
    """As `recorded`, with the whole id."""
    known: dict[str, Trial] = {}
    for path in sorted(folder.glob("*/trials.json")):
        try:
            for trial in json.loads(path.read_text("utf-8")):
                known[trial["trial"]] = Trial(trial["name"], trial.get("choices", {}), trial["config"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(str(path), f"cannot be read ({error})", "run its sweep again: what ran is reused") from error
    found = [name for name in known if name.startswith(trial_id)] if trial_id else []
    if len(found) != 1:
        what = f"{trial_id!r} names {len(found)} trials" if found else f"there is no trial {trial_id!r}"
        remedy = (
            f"write more of it: {', '.join(sorted(found))}" if found else f"{closest(trial_id, known)}; a sweep prints the ids"
        )
        raise ConfigError("trial", what, remedy)
    return found[0], known[found[0]]
