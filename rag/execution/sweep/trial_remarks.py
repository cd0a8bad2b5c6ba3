"""Sentences on the trials of a sweep: samples, languages, stand-ins, several answers to a question, and systems with losses."""

from collections.abc import Iterator

import numpy as np

from rag.config.search_space import own_judge_remarks, stand_in_remarks
from rag.config.validation import repeats_of
from rag.core.arrays import Ints
from rag.core.figures import amount, figure
from rag.evaluation.scoring import parse_column
from rag.execution.graph.language_gaps import language_gaps
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.search_graph import PLACE
from rag.execution.store.store import Store
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.sweep import Sweep
from rag.execution.sweep.trial_scores import scores_of


def trial_remarks(done: Sweep, store: Store, recommended: str) -> tuple[str, ...]:
    """All sentences; `recommended` is the id of a trial, empty without one."""
    trials = [planned.trial for planned in done.plan.trials]
    sampled = filter(None, [done.plan.trials[0].golden.sampled])
    known = *_spread(done, recommended), *sampled, *language_gaps(done.plan), *stand_in_remarks(trials)
    return *known, *own_judge_remarks(trials), *_systems(done.plan, store, done.board.objective)


def _spread(done: Sweep, recommended: str) -> tuple[str, ...]:
    """A sentence on the recommended trial, or the best with several answers per question; empty where no trial has them."""
    spread = {
        row.trial_id: {name: each["within"] for name, each in row.metrics.items() if "within" in each}
        for row in done.board.rows
    }
    trial = next((name for name in (recommended, *spread) if spread.get(name)), None)
    if trial is None:
        return ()
    config, name = next((each.trial.config, each.trial.name) for each in done.plan.trials if each.trial_id == trial)
    objective = [term.column for term in done.board.objective.terms]
    shown = [column for column in objective if column in spread[trial]] or list(spread[trial])
    parts = ", ".join(f"{column} {figure(spread[trial][column])}" for column in shown)
    return (f"{name} answers each question {repeats_of(config)} times; standard deviation inside questions: {parts}.",)


def _systems(made: Plan, store: Store, objective: Objective) -> Iterator[str]:
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


def _bound(trial: PlannedTrial, made: Plan, store: Store, objective: Objective, touched: Ints) -> str:
    """The mean of the objective, and the mean if each question with such a passage above the cut scored 1."""
    scores, name = scores_of(trial, made, store), objective.column
    column = parse_column(name, trial.trial.config["k"]) if scores and name in scores.columns else None
    if scores is None or column is None or column.unit != "ranks":
        return ""
    values = scores.column(name)
    most = np.where((touched > 0) & (touched <= column.size) & ~np.isnan(values), 1.0, values)
    return f" Its {name} is {figure(float(np.nanmean(values)))}, and {figure(float(np.nanmean(most)))} at most."
