"""Which answers are wrong, as far as reference answers can tell."""

from collections.abc import Mapping

import numpy as np

from rag.components.metrics.squad import normalised
from rag.core.records import Example, Reply
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import replies_of
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores

WRONG = 0.5
"""An answer is taken for wrong where no reference stands in it and every answer metric is below this."""


def measured(scores: Scores, row: int, k: int) -> dict[str, float]:
    """What the answer metrics (those without a cut) say of one question; those that do not apply are left out."""
    columns = [column for column in scores.columns if not parse_column(column, k).unit]
    found = {column: float(scores.column(column)[row]) for column in columns}
    return {column: value for column, value in found.items() if not np.isnan(value)}


def is_wrong(reply: Reply, example: Example, values: Mapping[str, float]) -> bool:
    """Whether a reply is wrong by WRONG; without an answer metric that applies nothing is known to be."""
    said = f" {normalised(reply.text)} "
    stands = any(f" {normalised(answer)} " in said for answer in example.answers)
    return bool(values) and not stands and max(values.values()) < WRONG


def wrong(trial: PlannedTrial, made: Plan, store: Store) -> frozenset[str]:
    """Ids of questions that a trial answered wrongly; none where it generates nothing. DataError without scores."""
    entry = store.read(made.stages[trial.ends.check].entry) if trial.ends.check else None
    if entry is None:
        return frozenset()
    scores, k = trial_scores.read_scores(trial, made, store).scores, trial.trial.config["k"]
    answered = zip(replies_of(entry), trial.golden.examples, strict=True)
    return frozenset(
        example.query.query_id
        for row, (reply, example) in enumerate(answered)
        if is_wrong(reply, example, measured(scores, row, k))
    )
