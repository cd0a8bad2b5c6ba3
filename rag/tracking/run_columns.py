"""The metrics and parameters of a trial in MLflow: those that the experiment asks for. The files of the run hold the rest."""

import json
from collections.abc import Mapping
from typing import Any

from rag.core.redaction import redacted_json
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Winner

ROLES = ("chunker", "passage", "embedder", "index", "fusion", "reranker", "selector", "generator")
"""Roles whose choices are parameters of every trial; axes add their own."""


def figures(row: Row, objective: Objective) -> dict[str, float]:
    """Means of the metrics, those of the objective first, then measured costs, then the ends of the 95 % intervals."""
    first = [term.column for term in objective.terms if term.column in row.metrics]
    summaries = ({"objective": row.summed} if row.summed else {}) | {name: row.metrics[name] for name in [*first, *row.metrics]}
    ends = {f"{name}_{end}": summary[end] for name, summary in summaries.items() for end in ("low", "high")}
    values = {**{name: summary["mean"] for name, summary in summaries.items()}, **row.measured, **ends}
    return {name: value for name, value in values.items() if value is not None}


def settings(trial: PlannedTrial, made: Plan) -> dict[str, str]:
    """The choices of the main roles by file name, `k`, `split`, and the labels of the axes."""
    config = trial.trial.config
    embeds = any(made.stages[key].name == "embed" for key in made.graph.ancestors(*ends_of(trial)))
    chosen = {role: _choice(config[role]) for role in ROLES if role in config and (embeds or role != "embedder")}
    return {**chosen, "k": str(config["k"]), "split": str(config["split"]), **trial.trial.choices}


def _choice(config: Mapping[str, Any]) -> str:
    """`recursive` for `rag.components.chunkers.recursive.RecursiveChunker`; several by their names, joined with `+`."""
    return str(config["_target_"]).split(".")[-2] if "_target_" in config else "+".join(config) or "none"


def everything(row: Row) -> str:
    """All results of a trial as JSON, also by kind of question, with numbers of questions."""
    parts = ("metrics", "kinds", "measured", "summed", "broken", "failures")
    return json.dumps(redacted_json({name: getattr(row, name) for name in parts}), indent=1, ensure_ascii=False)


def verdict_tags(verdict: Winner) -> dict[str, str]:
    """The tags of a sweep: the recommended trial, or the first of few questions, and why; tied trials, uses of the holdout."""
    trial = verdict.of(verdict.recommended)
    tied = "; ".join(verdict.of(trial_id).name for trial_id in verdict.tied)
    lead = "recommended" if verdict.enough else "first"
    tags = {lead: trial.name, f"{lead}.trial": trial.trial_id, f"{lead}.why": verdict.why, "tied": tied}
    return tags | ({"uses": str(verdict.uses)} if verdict.holdout else {})


def verdict_figures(verdict: Winner, objective: Objective) -> dict[str, float]:
    """Metrics of a sweep: number of tied trials, uses of the holdout, the objective on the holdout."""
    counts = {"tied": float(len(verdict.tied))} | ({"uses": float(verdict.uses)} if verdict.holdout else {})
    column = "objective" if objective.summed else objective.column
    held = verdict.of(verdict.recommended).holdout
    names = {"mean": f"holdout_{column}", "low": f"holdout_{column}_low", "high": f"holdout_{column}_high"}
    return counts | {names[part]: value for part, value in (held.to_json() if held else {}).items() if value is not None}
