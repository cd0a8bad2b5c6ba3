"""Which trial of a sweep to take: the set that cannot be told from the best, and the cheapest or fastest member of it."""

from rag.winner.choice import Race, choose, race
from rag.winner.field import Field, scores_of
from rag.winner.records import Entrant, Holdout, Mean, Standing, Winner, read

__all__ = [
    "Entrant",
    "Field",
    "Holdout",
    "Mean",
    "Race",
    "Standing",
    "Winner",
    "choose",
    "race",
    "read",
    "scores_of",
]
