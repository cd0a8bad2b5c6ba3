"""From how many questions on a sweep can take a cheaper trial, by the spread of stored scores of the same questions."""

from itertools import islice

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.core.figures import figure
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import other_sweeps
from rag.execution.sweep.leaderboard import objective_of
from rag.execution.sweep.selection.bootstrap import draw
from rag.execution.sweep.selection.reasons import many
from rag.execution.sweep.selection.rule import Rule, selection_rule
from rag.execution.sweep.trial_scores import scores_of

MOST = 30
"""Trials whose spread is looked at."""


def sentence(made: Plan, store: Store) -> str:
    """What a plan says on its margin; empty where no cheaper trial can be taken, and where trials ask different questions."""
    objective, goldens = objective_of(made), {trial.golden.asked_digest: trial.golden for trial in made.trials}
    rule, examples = selection_rule(made, objective), made.trials[0].golden.examples
    if len(made.trials) < 2 or rule.prices or not rule.margin or objective.measured or len(goldens) > 1:
        return ""
    columns, tables = {term.column for term in objective.terms}, (scores_of(trial, made, store) for trial in made.trials)
    known = (objective.per_question(table) for table in tables if table and columns <= set(table.columns))
    values = list(islice(known, MOST))
    values = values if len(values) > 1 else list(islice(other_sweeps.values(made, store, objective), MOST))
    number = needed(values, cluster_numbers(examples), rule)
    from_on = f"from {many(number)} questions on" if number else "by questions whose number is known after a sweep"
    within = f"A cheaper trial that is as good can be shown to be within {figure(rule.margin)}"
    return f"{within} {from_on}; {len(examples):,} are asked."


def needed(values: list[Floats], cluster: Ints, rule: Rule) -> float | None:
    """The questions at which half of the trials that equal the best are shown to be within the margin; None if unknown.

    `values` are those of trials per question. An interval shrinks with the root of the number of questions.
    """
    best = sorted((one for one in values if not np.isnan(one).all()), key=lambda one: -float(np.nanmean(one)))
    drawn = draw(np.stack(best, axis=1), cluster) if len(best) > 1 else None
    if drawn is None:
        return None
    rows = range(1, len(best))
    widths = [np.nanmean(best[row] - best[0]) - drawn.at_worst(np.array([row]), rule.span)[0] for row in rows]
    return float(len(cluster) * (np.median(widths) / rule.margin) ** 2)
