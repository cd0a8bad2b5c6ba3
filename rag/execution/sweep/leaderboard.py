"""Stored scores → one row per trial, best first. What was measured with a clock stands apart: it is never twice the same."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rag.core.assessments import Spent
from rag.core.errors import ConfigError
from rag.evaluation.scoring import Scores, summarise
from rag.execution.graph.engine import Outcome
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.store.store import Entry, Store
from rag.execution.sweep.objective import Objective
from rag.pipeline import unread_text

SPENT = ("tokens", "cost_usd")
"""What generators spend."""


@dataclass(frozen=True)
class Row:
    """One trial: `metrics` by column (mean, low, high, n), `kinds` by kind and column, `measured` by clock and scale.

    `summed` has the mean, low, high and n of an objective that adds several metrics; `broken` are the bounds it does not keep.
    `failures` say, one per question, why questions were not answered; they score 0.
    """

    trial_id: str
    name: str
    choices: Mapping[str, str]
    status: str
    metrics: Mapping[str, Mapping[str, Any]]
    kinds: Mapping[str, Mapping[str, Mapping[str, Any]]]
    measured: Mapping[str, float]
    error: str = ""
    summed: Mapping[str, Any] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    def value(self, column: str) -> float:
        """A metric's mean or a measurement; NaN where the trial has none."""
        found = self.metrics[column]["mean"] if column in self.metrics else self.measured.get(column)
        return float("nan") if found is None else float(found)

    def reached(self, objective: Objective) -> Mapping[str, Any]:
        """What the trial reached by an objective: mean, and low, high and n where it is measured per question."""
        if objective.summed:
            return self.summed
        return self.metrics.get(objective.column) or {"mean": self.measured.get(objective.column)}

    def worth(self, objective: Objective) -> float:
        """What a trial is ordered by: more is better; NaN where nothing was measured."""
        mean = self.reached(objective).get("mean")
        return math.nan if mean is None else objective.sign * float(mean)


@dataclass(frozen=True)
class Leaderboard:
    """Rows, best first by the objective.

    Trials that break a bound stand behind those that keep all, those that were not measured behind them, and those that
    failed, or did not come to an end, last.
    """

    experiment: str
    question: str
    objective: Objective
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """What depends on inputs alone: the same bytes from every machine, order and number of processes.

        Only an objective or a bound that reads a clock makes the order depend on that clock.
        """
        objective = {"column": self.objective.column, "maximize": self.objective.maximize, "text": self.objective.text}
        trials = [_told(row) for row in self.rows]
        return {"experiment": self.experiment, "question": self.question, "objective": objective, "trials": trials}

    def measured(self) -> dict[str, Any]:
        """What a clock and a scale said, by trial."""
        return {row.trial_id: dict(row.measured) for row in self.rows}


def _told(row: Row) -> dict[str, Any]:
    told = {"trial": row.trial_id, "name": row.name, "choices": dict(row.choices), "status": row.status}
    told |= {"objective": row.summed} if row.summed else {}
    told |= {"broken": list(row.broken)} if row.broken else {}
    return told | {"metrics": row.metrics, "kinds": row.kinds}


def objective_of(plan: Plan) -> Objective:
    """What a plan's trials are ordered by; ConfigError where none of them measures that."""
    objective = Objective.parse(plan.experiment.objective, _columns(plan))
    named = (*(term.column for term in objective.terms), *(bound.column for bound in objective.bounds))
    clocked = next((column for column in named if column.startswith("latency_")), "")
    if clocked and not any(trial.ends.latency for trial in plan.trials):
        raise ConfigError("objective", f"names {clocked!r}, and latency=0 measures none", "set latency=16")
    spent = next((column for column in named if column in SPENT), "")
    if spent and not any(trial.ends.generate for trial in plan.trials):
        raise ConfigError(
            "objective", f"names {spent!r}, and no trial generates anything", "choose a generator, or leave it out"
        )
    return objective


def _columns(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for trial in plan.trials for column in trial.trial.config["metrics"]))


def build_leaderboard(plan: Plan, outcomes: Mapping[str, Outcome], store: Store) -> Leaderboard:
    """The leaderboard of a plan as far as it ran."""
    columns, objective = _columns(plan), objective_of(plan)
    costs: dict[str, Mapping[str, Any]] = {}
    rows = [_row(trial, plan, objective, outcomes, store, costs) for trial in plan.trials]
    ordered = tuple(sorted((_judged(row, objective) for row in rows), key=lambda row: _place(row, objective)))
    return Leaderboard(plan.experiment.name, plan.experiment.question, objective, columns, ordered)


def _judged(row: Row, objective: Objective) -> Row:
    broken = objective.admits(row) if row.status == "done" else []
    return replace(row, broken=tuple(bound.text for bound in broken)) if broken else row


def _place(row: Row, objective: Objective) -> tuple[bool, bool, bool, float, str]:
    worth = row.worth(objective)
    return row.status != "done", math.isnan(worth), bool(row.broken), 0.0 if math.isnan(worth) else -worth, row.name


def _row(
    trial: PlannedTrial,
    plan: Plan,
    objective: Objective,
    outcomes: Mapping[str, Outcome],
    store: Store,
    costs: dict[str, Mapping[str, Any]],
) -> Row:
    failed = next((outcomes[end] for end in ends_of(trial) if end in outcomes and outcomes[end].error), None)
    names = (trial.trial_id, trial.trial.name, trial.trial.choices)
    if failed:
        return Row(*names, "not run" if failed.status == "stopped" else "failed", {}, {}, {}, failed.error)
    place = plan.stages[trial.ends.score].entry
    meta = store.read_meta(place)
    if meta is None:
        return Row(*names, "not run", {}, {}, {})
    summary = meta["summary"]
    summed = _summed(store.read(place), trial, objective) if objective.summed else {}
    measured, failures = _measured(trial, plan, store, costs), _failures(trial, plan, store)
    if failures:
        measured["failed_questions"] = float(len(failures))
    return Row(*names, "done", summary["columns"], summary["kinds"], measured, summed=summed, failures=failures)


def _failures(trial: PlannedTrial, plan: Plan, store: Store) -> tuple[str, ...]:
    meta = store.read_meta(plan.stages[trial.ends.generate].entry) if trial.ends.generate else None
    return tuple(reply["failure"] for reply in (meta or {}).get("failures", {}).values())


def _summed(entry: Entry | None, trial: PlannedTrial, objective: Objective) -> Mapping[str, Any]:
    """The summary of what an objective adds up: over the questions that all of its terms apply to."""
    scores = Scores.from_arrays(entry.arrays) if entry else None
    if scores is None or not {term.column for term in objective.terms} <= set(scores.columns):
        return {}
    values = objective.per_question(scores)[:, None]
    table = Scores(scores.query_ids, ("objective",), values, scores.failed)
    found: Mapping[str, Any] = summarise(table, trial.golden.examples, objective.span).to_json()["columns"]["objective"]
    return found


def _measured(trial: PlannedTrial, plan: Plan, store: Store, costs: dict[str, Mapping[str, Any]]) -> dict[str, float]:
    def cost(key: str) -> Mapping[str, Any]:
        if key not in costs:
            meta = store.read_meta(plan.stages[key].entry) or {}
            costs[key] = {**meta.get("cost", {}), "unread": meta.get("unread")}
        return costs[key]

    kept = [found for key in plan.graph.ancestors(*ends_of(trial)) if (found := cost(key)).get("name") != "latency"]
    measured = {
        "stage_seconds": round(sum(found.get("seconds", 0.0) for found in kept), 4),
        "cpu_seconds": round(sum(found.get("cpu", 0.0) for found in kept), 4),
        "index_bytes": float(sum(cost(key).get("bytes", 0) for key in trial.ends.indexes.values())),
    }
    measured |= {unread_text.COLUMNS[found["name"]]: found["unread"] for found in kept if found["unread"] is not None}
    # Beside trials that generate, one that does not has spent nothing; where none does, nothing is said of it.
    if any(other.ends.generate for other in plan.trials):
        spent = _answering(trial, plan, store)
        measured["tokens"] = float(spent.tokens)
        measured |= {} if math.isnan(spent.cost) else {"cost_usd": round(spent.cost, 6)}
    if trial.ends.assess:
        measured |= _assessed(store.read_meta(plan.stages[trial.ends.assess].entry) or {})
    if own := (store.read_meta(plan.stages[trial.ends.score].entry) or {}).get("asked"):
        failed = sum(float(count["failed"]) for count in own.values())
        measured["judge_failures"] = measured.get("judge_failures", 0.0) + failed
    entry = store.read(plan.stages[trial.ends.latency].entry) if trial.ends.latency else None
    if entry is not None:
        for share in (50, 95):
            measured[f"latency_p{share}_ms"] = round(1000 * float(np.percentile(entry.arrays["seconds"], share)), 3)
    return measured


def _answering(trial: PlannedTrial, plan: Plan, store: Store) -> Spent:
    """What answering took, whoever paid for it and when: rewriting, remembering, generating, asking again."""
    spent = Spent()
    for key in plan.graph.ancestors(*ends_of(trial)):
        if plan.stages[key].name in ("rewrite", "generate", "check"):
            spent += _paid(store.read_meta(plan.stages[key].entry) or {})
    return spent


def _paid(meta: Mapping[str, Any]) -> Spent:
    """What one stage paid. Replies are counted as they are after checks, which holds what asking again took."""
    replies = [*meta.get("failures", {}).values(), *(answer["reply"] for answer in meta.get("answers", ()) if answer)]
    rows = [(reply["prompt_tokens"] + reply["completion_tokens"], reply["cost"]) for reply in replies]
    rows += [(part["tokens"], part["cost"]) for name in ("sought", "recalled") for part in meta.get(name, ())]
    return sum((Spent(tokens, cost) for tokens, cost in rows), Spent())


def _assessed(meta: Mapping[str, Any]) -> dict[str, float]:
    """What a judge took, and how many judgements it could not make; it is no part of what an answer costs."""
    spent = meta.get("assessments", ())
    costs = [part["cost"] for part in spent]
    told = {"judge_tokens": float(sum(part["tokens"] for part in spent)), "judge_failures": float(meta.get("failed", 0))}
    return told if any(map(math.isnan, costs)) else told | {"judge_cost_usd": round(math.fsum(costs), 6)}
