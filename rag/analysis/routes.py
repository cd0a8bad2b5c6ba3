"""The routes and the kinds of golden questions: the right ones against those that a trial chose."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

from rag.core.records.queries import ROUTES
from rag.core.types import INPUTS, input_of
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.serialisation import AnswerParts, answer_parts
from rag.execution.store.store import Store

Matrix = dict[str, dict[str, int]]
"""The number of questions by right value, then by chosen value."""
Choice = Literal["route", "input"]
NAMES: Mapping[Choice, tuple[str, ...]] = {"route": tuple(ROUTES), "input": INPUTS}
"""The values of each choice."""
CHOSEN: Mapping[Choice, Callable[[AnswerParts], str]] = {
    "route": lambda part: part.look.routed.mechanism if part.look else "semantic",
    "input": lambda part: input_of(part.findings),
}


def confusion(trial: PlannedTrial, made: Plan, store: Store, choice: Choice = "route") -> Matrix:
    """The confusion matrix of the questions with a golden route or kind; empty without these, and without answers."""
    meta = store.read_meta(made.stages[trial.ends.check].entry) if trial.ends.check else None
    counts = Counter[tuple[str, str]]()
    for example, part in zip(trial.golden.examples, answer_parts(meta) if meta else (), strict=meta is not None):
        if part and (right := getattr(example, choice)):
            counts[right, CHOSEN[choice](part)] += 1
    rows = [name for name in NAMES[choice] if any(row == name for row, _ in counts)]
    return {row: {column: counts[row, column] for column in NAMES[choice]} for row in rows}
