"""Which answers are wrong, judged by the reference answers."""

from collections.abc import Mapping

import numpy as np

from rag.core.text.squad import normalised
from rag.core.types import Example, Reply
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import replies_of
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores

WRONG = 0.5
"""An answer counts as wrong if it contains no reference and every answer metric is below this."""


def measured(scores: Scores, row: int, k: int) -> dict[str, float]:
    """The scores of one question in the answer metrics (those without a cut) that apply to it."""
    columns = [column for column in scores.columns if not parse_column(column, k).unit]
    values = {column: float(scores.column(column)[row]) for column in columns}
    return {column: value for column, value in values.items() if not np.isnan(value)}


def is_wrong(reply: Reply, example: Example, values: Mapping[str, float]) -> bool:
    """True if a reply is wrong by WRONG; False without an answer metric that applies."""
    text = f" {normalised(reply.text)} "
    contained = any(f" {normalised(answer)} " in text for answer in example.answers)
    return bool(values) and not contained and max(values.values()) < WRONG


def wrong(trial: PlannedTrial, made: Plan, store: Store) -> frozenset[str]:
    """Ids of questions with a wrong answer; none if the trial generates nothing. DataError without scores."""
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
