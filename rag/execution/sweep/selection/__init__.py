"""Which trial of a sweep to take, by a stated rule; and the set of trials that cannot be told from the best."""

from rag.execution.sweep.selection import rule
from rag.execution.sweep.selection.candidates import Candidates, scores_of
from rag.execution.sweep.selection.choice import Race, choose, race
from rag.execution.sweep.selection.decision import Decision, decide
from rag.execution.sweep.selection.records import Entrant, Holdout, Mean, Standing, Winner, read
from rag.execution.sweep.selection.rule import Rule

__all__ = [
    "Candidates",
    "Decision",
    "Entrant",
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
