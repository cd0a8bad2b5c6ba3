"""Which trial of a sweep to take, by a stated rule; and the set of trials that cannot be told from the best."""

from rag.execution.sweep.winner import rule
from rag.execution.sweep.winner.choice import Race, choose, race
from rag.execution.sweep.winner.decision import Decision, decide
from rag.execution.sweep.winner.field import Field, scores_of
from rag.execution.sweep.winner.records import Entrant, Holdout, Mean, Standing, Winner, read
from rag.execution.sweep.winner.rule import Rule

__all__ = [
    "Decision",
    "Entrant",
    "Field",
    "Holdout",
    "Mean",
    "Race",
    "Rule",
    "Standing",
    "Winner",
    "choose",
    "decide",
    "race",
    "read",
    "rule",
    "scores_of",
]
