"""Weights the scores of hits in descriptions of figures, which a parser's model wrote and not the author."""

from typing import ClassVar

import numpy as np

from rag.core import pages
from rag.core.checks import check_number
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import NOTHING, Rankings


class FiguresSelector:
    """Multiplies the scores of hits by `weight` if more than half of their characters are in blocks of the kind figure.

    Scores are those of the previous stage: of the fusion, or of the reranker if there is one. Where a question has negative
    scores, as logits are, `weight` applies to the distance from its lowest score instead: a smaller weight never raises a hit.
    """

    reorders: ClassVar[bool] = True
    """It gives hits new scores and a new order, and drops none."""

    def __init__(self, weight: float = 0.3) -> None:
        check_number("selector.figures.weight", weight, 0, 1)
        self.weight = float(weight)

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The same hits by their weighted scores; ConfigError for rankings that a selector widened."""
        if rankings.ranks is not None:
            raise ConfigError("selector.figures", "comes behind a selector that adds chunks", "write figures before it")
        hits = rankings.positions != NOTHING
        drawn = [position for position in np.unique(rankings.positions[hits]).tolist() if _is_figure(corpus, position)]
        if not drawn:
            return rankings
        scores = np.where(hits, rankings.scores, 0.0)
        base = scores.min(axis=1, initial=0.0, keepdims=True)
        weighted = np.where(np.isin(rankings.positions, drawn), base + self.weight * (scores - base), rankings.scores)
        return Rankings.ordered(rankings.positions, weighted, rankings.positions.shape[1])


def _is_figure(corpus: Corpus, position: int) -> bool:
    chunk = corpus.chunk(position)
    figures = pages.figures(chunk.blocks, chunk.span.start, chunk.span.end)
    return 2 * sum(end - start for start, end in figures) > len(chunk.text)
