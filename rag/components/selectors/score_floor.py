"""Drops hits that score too low, so that a question without an answer in the corpus can end up with no contexts."""

import math

import numpy as np

from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings


class ScoreFloorSelector:
    """Drops hits that score below `floor`, or with `relative` below `floor` times the best score of their question.

    Scores are those of the stage before: of a fusion or a reranker where there is one. A share of a score that is not
    positive means nothing, so a question whose best score is not keeps all its hits under a relative floor.
    """

    def __init__(self, floor: float, relative: bool = False) -> None:
        if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not math.isfinite(floor):
            raise ConfigError("selector.score_floor.floor", f"found {floor!r}", "a number")
        if not isinstance(relative, bool):
            raise ConfigError("selector.score_floor.relative", f"found {relative!r}", "true or false")
        if relative and not 0 <= floor <= 1:
            raise ConfigError("selector.score_floor.floor", f"{floor} is no share of the best score", "a number from 0 to 1")
        self.floor, self.relative = float(floor), relative

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The hits at or above the floor, in their order."""
        scores = rankings.scores
        best = scores[:, :1]
        floors = np.where(best > 0, self.floor * np.maximum(best, 0), -np.inf) if self.relative else self.floor
        return rankings.where(scores >= floors)
