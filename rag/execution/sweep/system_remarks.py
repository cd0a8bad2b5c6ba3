"""Sentences on trials of other systems: passages that are in no document, and questions on which a system failed."""

from collections.abc import Iterator

import numpy as np

from rag.core.figures import amount, figure
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.system_stages import PLACE
from rag.execution.store.store import Store
from rag.execution.sweep.objective import Objective


def system_remarks(made: Plan, store: Store, objective: Objective) -> Iterator[str]:
    """For each trial of a system with losses: their number, and what the objective is at most if all of them were right."""
    for trial in made.trials:
        stage = made.stages[trial.ends.corpus]
        meta = (store.read_meta(stage.entry) or {}) if stage.name == PLACE else {}
        if failed := meta.get("failed"):
            count, asked = len(failed), len(trial.golden.examples)
            yield f"{trial.trial.name} failed on {count} of {asked} questions, which count as not found. The first: {failed[0]}"
        if share := meta.get("unplaced"):
            touched = np.array(meta["first_foreign"])
            what = f"{share:.1%} of the passages of {trial.trial.name}, in {amount(int((touched > 0).sum()), 'question')},"
            yield f"{what} are not in the documents and count as wrong.{_bound(trial, made, store, objective, touched)}"


def _bound(trial: PlannedTrial, made: Plan, store: Store, objective: Objective, touched: np.ndarray) -> str:
    """The mean of the objective, and the mean if each question with such a passage above the cut scored 1."""
    entry, name = store.read(made.stages[trial.ends.score].entry), objective.column
    scores = Scores.from_arrays(entry.arrays) if entry else None
    column = parse_column(name, trial.trial.config["k"]) if scores and name in scores.columns else None
    if scores is None or column is None or column.unit != "ranks":
        return ""
    values = scores.column(name)
    most = np.where((touched > 0) & (touched <= column.size) & ~np.isnan(values), 1.0, values)
    return f" Its {name} is {figure(float(np.nanmean(values)))}, and {figure(float(np.nanmean(most)))} at most."
