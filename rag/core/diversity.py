"""Maximal marginal relevance: candidates picked one by one, relevant and unlike those already picked.

Carbonell & Goldstein 1998, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries".
"""

import numpy as np
from numpy.typing import NDArray

from rag.core.rankings import DIGITS


def picked_at(relevance: NDArray[np.floating], similarity: NDArray[np.floating], weight: float) -> list[float]:
    """The marginal relevance of each candidate when it is picked: weight · relevance - (1 - weight) · redundancy.

    Redundancy is the greatest similarity to a candidate already picked, and at least 0, so the values never rise.
    `relevance` has shape (candidates,), `similarity` (candidates, candidates). Values are rounded as in rankings before
    they are compared, so that the first of equal candidates is picked on every machine.
    """
    values = np.zeros(len(relevance))
    redundancy = np.zeros(len(relevance))
    open_ = np.ones(len(relevance), dtype=bool)
    for _ in range(len(relevance)):
        marginal = np.round(weight * relevance.astype(np.float64) - (1 - weight) * redundancy, DIGITS)
        pick = int(np.where(open_, marginal, -np.inf).argmax())
        values[pick] = marginal[pick]
        open_[pick] = False
        redundancy = np.maximum(redundancy, similarity[pick])
    return [float(value) for value in values]
