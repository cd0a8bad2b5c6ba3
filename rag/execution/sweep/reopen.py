"""Trials that sweeps wrote down, found by id and planned again. Nothing runs."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rag.config.catalog import experiments
from rag.config.experiment import Experiment, Trial
from rag.core.errors import ConfigError, DataError, closest
from rag.core.secrets.places import PLACEHOLDER
from rag.execution.graph import plan
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.budget import Ledger
from rag.execution.store.store import Store

REPORTS = Path("reports")
AGAIN = "run its sweep again: what has not changed is reused"


@dataclass(frozen=True)
class StoredTrial:
    """A trial under the id that it had when `experiment` ran with `overrides`."""

    trial_id: str
    trial: Trial
    experiment: str
    overrides: tuple[str, ...] = ()


def stored_trial(prefix: str, folder: Path = REPORTS) -> StoredTrial:
    """The trial whose id begins with `prefix`, from any `trials.json`; ConfigError unless there is exactly one."""
    known: dict[str, StoredTrial] = {}
    for path in sorted(folder.glob("*/trials.json")):
        known |= _trials_of(path, path.stat().st_mtime_ns)
    matching = [name for name in known if name.startswith(prefix)] if prefix else []
    if len(matching) == 1:
        if "store" not in known[matching[0]].trial.config:
            raise DataError(f"trial {matching[0]}", "was written down before configs had 'store'", AGAIN)
        if PLACEHOLDER.search(json.dumps(known[matching[0]].trial.config)):
            what = "ran with a secret in its config, and secrets are not written down"
            raise DataError(f"trial {matching[0]}", what, "name a variable of the environment instead, and run its sweep again")
        return known[matching[0]]
    if matching:
        remedy = f"write more of it: {', '.join(sorted(matching))}"
        raise ConfigError("trial", f"{prefix!r} names {len(matching)} trials", remedy)
    raise ConfigError("trial", f"there is no trial {prefix!r}", f"{closest(prefix, known)}; a sweep prints the ids")


@lru_cache(maxsize=256)
def _trials_of(path: Path, changed: int) -> Mapping[str, StoredTrial]:
    """The trials of a file by id; callers share their configs and must not change them."""
    try:
        rows = json.loads(path.read_text("utf-8"))
        trials = {row["trial"]: Trial(row["name"], row.get("choices", {}), row["config"]) for row in rows}
        typed = {row["trial"]: tuple(row.get("overrides", ())) for row in rows}
        return {name: StoredTrial(name, trial, path.parent.name, typed[name]) for name, trial in trials.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(str(path), f"cannot be read ({error})", "run its sweep again: what ran is reused") from error


def reopen(trials: Mapping[str, Trial], store: Store, experiment: str, ledger: Ledger | None = None) -> Plan:
    """Plan stored trials, by id, as they ran; DataError where one would have another id today.

    Trials are planned together, so that their data are read once. `ledger` replaces the budgets that they ran under.
    """
    try:
        plan_today = plan.assemble(Experiment(experiment, "", ()), list(trials.values()), store, ledger)
    except KeyError as error:
        names = ", ".join(trials)
        raise DataError(f"trial {names}", f"was written down before configs had {error}", AGAIN) from error
    for trial_id, today in zip(trials, plan_today.trials, strict=True):
        if today.trial_id != trial_id:
            what = f"would be {today.trial_id} today: its documents or its questions changed since it ran"
            raise DataError(f"trial {trial_id} ({today.trial.name})", what, AGAIN)
    return plan_today


def check_scores(plan_today: Plan, store: Store, folder: Path = REPORTS) -> None:
    """Raise DataError for a trial without scores in the store; the reason is that of the leaderboards in `folder`."""
    for trial in plan_today.trials:
        if store.read_meta(plan_today.stages[trial.ends.score].entry) is None:
            raise _no_scores(trial, folder)


def _no_scores(trial: PlannedTrial, folder: Path) -> DataError:
    where = f"trial {trial.trial_id} ({trial.trial.name})"
    for path in sorted(folder.glob("*/leaderboard.json")):
        status = {row["trial"]: row["status"] for row in leaderboard_rows(path)}.get(trial.trial_id, "done")
        if status != "done":
            what = "failed in its sweep" if status == "failed" else "did not run to its end"
            name, typed = path.parent.name, stored_trial(trial.trial_id, folder).overrides
            sweep = shlex.join(["rag", "sweep", name, *typed]) if name in experiments() else "its sweep"
            return DataError(where, f"{what} and has no scores", f"{sweep} says why, and goes on")
    return DataError(where, "has no scores in the store: the code changed since, or the store was cleared", AGAIN)


def leaderboard_rows(path: Path) -> list[dict[str, str]]:
    """Trial and status of every row of a `leaderboard.json`, best first; none where it cannot be read."""
    try:
        rows = json.loads(path.read_text("utf-8"))["trials"]
        return [{name: str(row[name]) for name in ("trial", "status")} for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []
