"""The routes of golden questions: the right ones against those that a trial chose."""

from collections import Counter

from rag.core.record_queries import ROUTES
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.serialisation import answer_parts
from rag.execution.store.store import Store

Matrix = dict[str, dict[str, int]]
"""The number of questions by right route, then by chosen route."""


def confusion(trial: PlannedTrial, made: Plan, store: Store) -> Matrix:
    """The confusion matrix of the questions with a golden route; empty without these, and without answers."""
    meta = store.read_meta(made.stages[trial.ends.check].entry) if trial.ends.check else None
    counts = Counter[tuple[str, str]]()
    for example, part in zip(trial.golden.examples, answer_parts(meta) if meta else (), strict=meta is not None):
        if example.route and part:
            counts[example.route, part.look.routed.mechanism if part.look else "semantic"] += 1
    right = [route for route in ROUTES if any(row == route for row, _ in counts)]
    return {row: {column: counts[row, column] for column in ROUTES} for row in right}
