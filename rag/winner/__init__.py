"""Which trial of a sweep to take, by a stated rule; and the set of trials that cannot be told from the best."""

from rag.winner import rule
from rag.winner.choice import Race, choose, race
from rag.winner.decision import Decision, decide
from rag.winner.field import Field, scores_of
from rag.winner.records import Entrant, Holdout, Mean, Standing, Winner, read
from rag.winner.rule import Rule

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
