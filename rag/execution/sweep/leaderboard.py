"""Stored scores → one row per trial, best first. Measured times are kept apart, because they differ from run to run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rag.config.stand_ins import asks_model, lacks_model
from rag.config.validation import repeats_of
from rag.core.assessments import Spent
from rag.core.errors import ConfigError
from rag.evaluation.scoring import Scores, summarise
from rag.execution.graph.engine import Outcome
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.store.store import Store
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.stage_sums import small, unusable_of_trial
from rag.execution.sweep.trial_scores import scores_of, seconds_of
from rag.pipeline.search import unread_text

SPENT = ("tokens", "cost_usd")
"""Columns of what generators spend."""


@dataclass(frozen=True)
class Row:
    """One trial: `metrics` by column (mean, low, high, n), `kinds` by kind and column, `measured` such as latency by column.

    `summed` has the mean, low, high and n of an objective that adds several metrics; `broken` are the bounds that it
    breaks. `quotes` counts the gold quotes of the trial's documents by fate; it is empty where all are exact. `failures`
    has one message for each question that was not answered; these score 0. `apart`: something stands in for the model that
    answers, and other trials have one.
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
    quotes: Mapping[str, int] = field(default_factory=dict)
    apart: bool = False

    def value(self, column: str) -> float:
        """A metric's mean or a measurement; NaN where the trial has none."""
        value = self.metrics[column]["mean"] if column in self.metrics else self.measured.get(column)
        return float("nan") if value is None else float(value)

    def reached(self, objective: Objective) -> Mapping[str, Any]:
        """The mean of the objective; with low, high and n where it is measured per question."""
        if objective.summed:
            return self.summed
        return self.metrics.get(objective.column) or {"mean": self.measured.get(objective.column)}

    def worth(self, objective: Objective) -> float:
        """The sort key of a trial: more is better; NaN where nothing was measured."""
        mean = self.reached(objective).get("mean")
        return math.nan if mean is None else objective.sign * float(mean)


@dataclass(frozen=True)
class Leaderboard:
    """Rows, best first by the objective; those that a model answers come before those in which something stands in for it.

    Trials that break a bound come after those that keep all, then those without a value, and last those that failed or did
    not end.
    """

    experiment: str
    question: str
    objective: Objective
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """All that depends on inputs alone: the same bytes for every machine, order and number of processes.

        With an objective or a bound on a measured time the order of the rows depends on that time.
        """
        objective = {"column": self.objective.column, "maximize": self.objective.maximize, "text": self.objective.text}
        trials = [_row_json(row) for row in self.rows]
        return {"experiment": self.experiment, "question": self.question, "objective": objective, "trials": trials}

    def measured(self) -> dict[str, Any]:
        """Measured values by trial."""
        return {row.trial_id: dict(row.measured) for row in self.rows}


def ranked(rows: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Rows with their ranks, from 1: those that are apart have ranks of their own."""
    first = next((place for place, row in enumerate(rows) if row.apart), len(rows))
    return ((place + 1 - first * row.apart, row) for place, row in enumerate(rows))


def _row_json(row: Row) -> dict[str, Any]:
    names = {"trial": row.trial_id, "name": row.name, "choices": dict(row.choices), "status": row.status}
    objective = ({"objective": row.summed} if row.summed else {}) | ({"broken": list(row.broken)} if row.broken else {})
    objective |= {"quotes": dict(row.quotes)} if row.quotes else {}
    apart = {"apart": True} if row.apart else {}
    return names | apart | objective | {"metrics": row.metrics, "kinds": row.kinds}


def objective_of(plan: Plan) -> Objective:
    """The objective of a plan; ConfigError where no trial measures it."""
    objective = Objective.parse(plan.experiment.objective, _columns(plan))
    named = (*(term.column for term in objective.terms), *(bound.column for bound in objective.bounds))
    clocked = next((column for column in named if column.startswith("latency_")), "")
    if clocked and not any(trial.ends.latency for trial in plan.trials):
        raise ConfigError("objective", f"names {clocked!r}, and latency=0 measures none", "set latency=16")
    spent = next((column for column in named if column in SPENT), "")
    if spent and not any(trial.ends.generate for trial in plan.trials):
        what = f"names {spent!r}, and no trial generates anything"
        raise ConfigError("objective", what, "choose a generator, or leave it out")
    return objective


def _columns(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for trial in plan.trials for column in trial.trial.config["metrics"]))


def build_leaderboard(plan: Plan, outcomes: Mapping[str, Outcome], store: Store) -> Leaderboard:
    """The leaderboard of a plan as far as it ran."""
    columns, objective = _columns(plan), objective_of(plan)
    table = _Rows(plan, objective, outcomes, store)
    ordered = sorted(map(table.row, plan.trials), key=lambda row: _place(row, objective))
    return Leaderboard(plan.experiment.name, plan.experiment.question, objective, columns, tuple(ordered))


def _place(row: Row, objective: Objective) -> tuple[bool, bool, bool, bool, float, str]:
    worth = row.worth(objective)
    return row.status != "done", row.apart, math.isnan(worth), bool(row.broken), 0.0 if math.isnan(worth) else -worth, row.name


class _Rows:
    """Builds the rows of one leaderboard; the JSON of a stage that trials share is read once."""

    def __init__(self, plan: Plan, objective: Objective, outcomes: Mapping[str, Outcome], store: Store) -> None:
        self.plan, self.objective, self.outcomes, self.store = plan, objective, outcomes, store
        self.generates = any(trial.ends.generate for trial in plan.trials)
        self.modelled = any(asks_model(trial.trial.config) for trial in plan.trials)
        self.selects = any(trial.trial.config["selector"] for trial in plan.trials)
        self._metas: dict[str, Mapping[str, Any]] = {}

    def row(self, trial: PlannedTrial) -> Row:
        """The row of a trial; its status is done, failed, or not run."""
        names = (trial.trial_id, trial.trial.name, trial.trial.choices)
        outcomes = [self.outcomes[end] for end in ends_of(trial) if end in self.outcomes]
        if failed := next((outcome for outcome in outcomes if outcome.error), None):
            return Row(*names, "not run" if failed.status == "stopped" else "failed", {}, {}, {}, failed.error)
        summary = self._meta(trial.ends.score).get("summary")
        if summary is None:
            return Row(*names, "not run", {}, {}, {})
        metas = map(self._meta, self.plan.graph.ancestors(trial.ends.score))
        lost = {number: reply["failure"] for meta in metas for number, reply in meta.get("failures", {}).items()}
        failures = tuple(lost.values())
        measured = self._measured(trial) | ({"failed_questions": float(len(failures))} if failures else {})
        summed = self._summed(trial) if self.objective.summed else {}
        quotes = trial.golden.fates if set(trial.golden.fates) - {"exact"} else {}
        figures = (summary["columns"], summary["kinds"], measured)
        apart = self.modelled and lacks_model(trial.trial.config)
        row = Row(*names, "done", *figures, summed=summed, failures=failures, quotes=quotes, apart=apart)
        broken = self.objective.broken_bounds(row.value)
        return replace(row, broken=tuple(bound.text for bound in broken)) if broken else row

    def _meta(self, key: str | None) -> Mapping[str, Any]:
        if key is None:
            return {}
        if key not in self._metas:
            self._metas[key] = small(self.store.read_meta(self.plan.stages[key].entry) or {})
        return self._metas[key]

    def _summed(self, trial: PlannedTrial) -> Mapping[str, Any]:
        """The summary of a sum of columns, over the questions that all of them apply to."""
        scores = scores_of(trial, self.plan, self.store)
        if scores is None or not {term.column for term in self.objective.terms} <= set(scores.columns):
            return {}
        values = self.objective.per_question(scores)[:, None]
        table = Scores(scores.query_ids, ("objective",), values, scores.failed)
        summary: Mapping[str, Any] = summarise(table, trial.golden.examples, self.objective.span).to_json()
        return dict(summary["columns"]["objective"])

    def _measured(self, trial: PlannedTrial) -> dict[str, float]:
        metas = [self._meta(key) for key in self.plan.graph.ancestors(*ends_of(trial))]
        costs = [cost for meta in metas if (cost := meta.get("cost", {})).get("name") != "latency"]
        measured = {
            "stage_seconds": round(sum(cost.get("seconds", 0.0) for cost in costs), 4),
            "cpu_seconds": round(sum(cost.get("cpu", 0.0) for cost in costs), 4),
            "index_bytes": float(sum(self._meta(key).get("cost", {}).get("bytes", 0) for key in trial.ends.indexes.values())),
        }
        unread = {meta["cost"]["name"]: meta["unread"] for meta in metas if meta.get("unread") is not None}
        measured |= {unread_text.COLUMNS[stage]: share for stage, share in unread.items()}
        for stage, kind in (("written", "passage"), ("enriched", "enrich")):
            if taken := next((meta[stage] for meta in metas if stage in meta), None):
                measured |= {f"{kind}_tokens": float(taken["tokens"]), f"{kind}_failures": float(taken["failed"])}
                measured |= {} if math.isnan(taken["cost"]) else {f"{kind}_cost_usd": round(taken["cost"], 6)}
        measured |= unusable_of_trial(trial.trial.config, metas)
        if self.generates:  # In a sweep without generators no row has these columns; else a trial without one spent nothing.
            looked = [meta["looked"] for meta in metas if "looked" in meta][-1:]  # The last link has the steps of all.
            paid = [(meta["cost"]["name"] == "rewrite", meta["paid"]) for meta in metas if "paid" in meta]
            once, answers = (sum((part for first, part in paid if first == wanted), Spent()) for wanted in (True, False))
            spent = sum((once, answers.share(repeats_of(trial.trial.config)), *looked), Spent())
            measured["tokens"] = float(spent.tokens)
            measured |= {} if math.isnan(spent.cost) else {"cost_usd": round(spent.cost, 6)}
        measured |= self._meta(trial.ends.assess).get("judged", {}) if trial.ends.assess else {}
        measured |= {"cut_replies": cut} if (cut := self._meta(trial.ends.check).get("cut_replies")) else {}
        if asked := self._meta(trial.ends.score).get("asked"):
            failed = sum(float(count["failed"]) for count in asked.values())
            measured["judge_failures"] = measured.get("judge_failures", 0.0) + failed
        read, k = self._meta(trial.ends.judge).get("read") or {}, int(trial.trial.config["k"])
        shown = ("unjudged", "chars_read") if self.selects else ("unjudged",)
        return measured | {name: read[name][min(k, len(read[name])) - 1] for name in shown if read} | self._latency(trial)

    def _latency(self, trial: PlannedTrial) -> dict[str, float]:
        seconds = seconds_of(trial, self.plan, self.store)
        if seconds is None:
            return {}
        return {f"latency_p{share}_ms": round(1000 * float(np.percentile(seconds, share)), 3) for share in (50, 95)}
