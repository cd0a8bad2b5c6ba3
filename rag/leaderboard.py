"""Stored scores → one row per trial, best first. What was measured with a clock stands apart: it is never twice the same."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag.errors import ConfigError, closest
from rag.execute import Outcome
from rag.plan import Plan, PlannedTrial, ends_of
from rag.runners import replies_of
from rag.store import Entry, Store

USUAL = "ndcg@10"
LOWER_IS_BETTER = ("latency_p50_ms", "latency_p95_ms", "index_bytes", "stage_seconds", "cpu_seconds", "tokens", "cost_usd")


@dataclass(frozen=True)
class Objective:
    """What a sweep is sorted by."""

    column: str
    maximize: bool = True

    @classmethod
    def parse(cls, text: str, columns: Sequence[str]) -> "Objective":
        """`maximize ndcg@10`, `minimize latency_p95_ms`, or a bare column, which is maximized where more is better.

        Where nothing is said it is ndcg@10, and where that is not measured the first column.
        """
        text = text or (USUAL if USUAL in columns else columns[0])
        match = re.fullmatch(r"\s*(?:(maximize|minimize)\s+)?(\S+)\s*", text)
        known = (*columns, *LOWER_IS_BETTER)
        if match is None:
            raise ConfigError("objective", f"is {text!r}", "for example: maximize ndcg@10")
        if match[2] not in known:
            raise ConfigError("objective", f"names {match[2]!r}, which is not measured", closest(match[2], known))
        return cls(match[2], match[1] != "minimize" if match[1] else match[2] not in LOWER_IS_BETTER)


@dataclass(frozen=True)
class Row:
    """One trial: `metrics` by column (mean, low, high, n), `kinds` by kind and column, `measured` by clock and scale."""

    trial_id: str
    name: str
    choices: Mapping[str, str]
    status: str
    metrics: Mapping[str, Mapping[str, Any]]
    kinds: Mapping[str, Mapping[str, Mapping[str, Any]]]
    measured: Mapping[str, float]
    error: str = ""

    def value(self, column: str) -> float:
        """A metric's mean or a measurement; NaN where the trial has none."""
        found = self.metrics[column]["mean"] if column in self.metrics else self.measured.get(column)
        return float("nan") if found is None else float(found)


@dataclass(frozen=True)
class Leaderboard:
    """Rows, best first by the objective; trials that failed, or did not come to an end, last."""

    experiment: str
    question: str
    objective: Objective
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """What depends on inputs alone: the same bytes from every machine, order and number of processes."""
        trials = [
            {"trial": row.trial_id, "name": row.name, "choices": dict(row.choices), "status": row.status}
            | {"metrics": row.metrics, "kinds": row.kinds}
            for row in self.rows
        ]
        objective = {"column": self.objective.column, "maximize": self.objective.maximize}
        return {"experiment": self.experiment, "question": self.question, "objective": objective, "trials": trials}

    def measured(self) -> dict[str, Any]:
        """What a clock and a scale said, by trial."""
        return {row.trial_id: dict(row.measured) for row in self.rows}


def objective_of(plan: Plan) -> Objective:
    """What a plan's trials are ordered by; ConfigError where none of them measures that."""
    objective = Objective.parse(plan.experiment.objective, _columns(plan))
    if objective.column.startswith("latency_") and not any(trial.ends.latency for trial in plan.trials):
        raise ConfigError("objective", f"names {objective.column!r}, and latency=0 measures none", "set latency=16")
    return objective


def _columns(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for trial in plan.trials for column in trial.trial.config["metrics"]))


def of(plan: Plan, outcomes: Mapping[str, Outcome], store: Store) -> Leaderboard:
    """The leaderboard of a plan as far as it ran."""
    columns, objective = _columns(plan), objective_of(plan)
    costs: dict[str, Mapping[str, Any]] = {}
    rows = [_row(trial, plan, outcomes, store, costs) for trial in plan.trials]
    sign = -1.0 if objective.maximize else 1.0

    def place(row: Row) -> tuple[bool, bool, float, str]:
        value = row.value(objective.column)
        return row.status != "done", bool(np.isnan(value)), 0.0 if np.isnan(value) else sign * value, row.name

    ordered = tuple(sorted(rows, key=place))
    return Leaderboard(plan.experiment.name, plan.experiment.question, objective, columns, ordered)


def _row(
    trial: PlannedTrial, plan: Plan, outcomes: Mapping[str, Outcome], store: Store, costs: dict[str, Mapping[str, Any]]
) -> Row:
    failed = next((outcomes[end] for end in ends_of(trial) if end in outcomes and outcomes[end].error), None)
    names = (trial.trial_id, trial.trial.name, trial.trial.choices)
    if failed:
        return Row(*names, "failed", {}, {}, {}, failed.error)
    meta = store.read_meta(plan.stages[trial.ends.score].entry)
    if meta is None:
        return Row(*names, "not run", {}, {}, {})
    summary = meta["summary"]
    return Row(*names, "done", summary["columns"], summary["kinds"], _measured(trial, plan, store, costs))


def _measured(trial: PlannedTrial, plan: Plan, store: Store, costs: dict[str, Mapping[str, Any]]) -> dict[str, float]:
    def cost(key: str) -> Mapping[str, Any]:
        if key not in costs:
            costs[key] = (store.read_meta(plan.stages[key].entry) or {}).get("cost", {})
        return costs[key]

    kept = [found for key in plan.graph.ancestors(*ends_of(trial)) if (found := cost(key)).get("name") != "latency"]
    measured = {
        "stage_seconds": round(sum(found.get("seconds", 0.0) for found in kept), 4),
        "cpu_seconds": round(sum(found.get("cpu", 0.0) for found in kept), 4),
        "index_bytes": float(sum(cost(key).get("bytes", 0) for key in trial.ends.indexes.values())),
    }
    if trial.ends.generate:
        replies = replies_of(store.read(plan.stages[trial.ends.generate].entry) or Entry(meta={"replies": []}))
        measured["tokens"] = float(sum(reply.prompt_tokens + reply.completion_tokens for reply in replies))
        measured |= {} if math.isnan(cost_usd := sum(reply.cost for reply in replies)) else {"cost_usd": round(cost_usd, 6)}
    entry = store.read(plan.stages[trial.ends.latency].entry) if trial.ends.latency else None
    if entry is not None:
        for share in (50, 95):
            measured[f"latency_p{share}_ms"] = round(1000 * float(np.percentile(entry.arrays["seconds"], share)), 3)
    return measured
