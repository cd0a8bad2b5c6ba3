"""Drops hits with low scores, so that a question without an answer in the corpus may get no contexts."""

import numpy as np

from rag.core.checks import check_number
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings


class ScoreFloorSelector:
    """Drops hits that score below `floor`, or with `relative` below `floor` times the best score of their question.

    Scores are those of the previous stage: of the fusion, or of the reranker if there is one. A relative floor has no meaning
    if the best score of a question is not positive: such a question keeps all its hits.
    """

    def __init__(self, floor: float, relative: bool = False) -> None:
        if not isinstance(relative, bool):
            raise ConfigError("selector.score_floor.relative", f"is {relative!r}", "true or false")
        if relative:
            check_number("selector.score_floor.floor", floor, 0, 1, "a share of the best score")
        else:
            check_number("selector.score_floor.floor", floor)
        self.floor, self.relative = float(floor), relative

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The hits at or above the floor, in their order."""
        scores = rankings.scores
        best = scores[:, :1]
        floors = np.where(best > 0, self.floor * np.maximum(best, 0), -np.inf) if self.relative else self.floor
        return rankings.where(scores >= floors)
