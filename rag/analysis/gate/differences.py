"""Differences between a baseline and today, and between a baseline and its predecessor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag.analysis import baseline
from rag.analysis.gate import candidate
from rag.analysis.gate.measure import Gated
from rag.core.errors import DataError
from rag.core.figures import figure
from rag.execution.sweep import trial_scores

DATA = {"corpus": "documents", "golden": "questions"}
"""Fingerprints of data, with their names in reports."""
Changes = Sequence[tuple[str, Any, Any]]


def changes(gated: Gated) -> tuple[tuple[str, Any, Any], ...]:
    """The differences of config, models and data: key, baseline, today."""
    ready, kept = gated.candidate, gated.kept
    config = candidate.changed(kept.result.config, baseline.portable(ready.trial.trial.config))
    sides = kept.models, baseline.models_of(ready.trial, ready.plan)
    models = [(f"{role} model", sides[0].get(role), sides[1].get(role)) for role in dict.fromkeys((*sides[0], *sides[1]))]
    today = trial_scores.fingerprints(ready.trial)
    data = [(name, kept.result.fingerprints.get(key), today[key]) for key, name in DATA.items()]
    return (*config, *(each for each in (*models, *data) if each[1] != each[2]))


def reason(gated: Gated, changed: Changes, computed: str) -> str:
    """The cause of different scores if it is not the config; for equal keys, the result of the sample."""
    if gated.same:
        return f" {computed}" if computed else ""
    if not changed:
        return " The config is the baseline's: code, or the version of a library, differs."
    data = [key for key, _, _ in changed]
    return f" The config is the baseline's: {' and '.join(data)} differ." if set(data) <= set(DATA.values()) else ""


def replacement(gated: Gated, previous: Path) -> str:
    """What a pull request did to its own baseline: empty, or the means before and after."""
    if not previous.exists():
        return "This change adds its own baseline: the branch that it goes to has none."
    if previous.read_bytes() == gated.path.read_bytes():
        return ""
    try:
        before, after = baseline.load(previous).result, gated.kept.result
    except DataError as error:
        return f"This change replaces its own baseline; the one before it {error.what}."
    parts = [f"questions {len(before.questions)} → {len(after.questions)}"]
    for column in gated.gate.columns:
        sides = [side.scores.column(column) for side in (before, after) if column in side.scores.columns]
        if len(sides) == 2 and not any(np.isnan(side).all() for side in sides):
            parts.append(f"{column} {figure(float(np.nanmean(sides[0])))} → {figure(float(np.nanmean(sides[1])))}")
    return f"This change replaces its own baseline: {', '.join(parts)}."
