"""Graded gain, discounted by rank, as a share of the ideal."""

import numpy as np

from rag.components.metrics.ranking_metric import Cuts, Scores, by_rank, ratio
from rag.core.roles import Judgements


class DiscountedGain:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002), linear in the grade as in trec_eval.

    With groups sorted by (r, -grade), the j-th satisfied group counts grade / log2(1 + max(r, j)) if that rank is within the
    cut. The ideal has the groups at ranks 1, 2, 3 … by grade, up to the cut. `ndcg_cut_k` of trec_eval for document gold.
    """

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold, 0 for a cut of 0."""
        rank, grade = by_rank(judged, cut)
        counts = (rank > 0) & (rank <= cut[:, None])
        gain = np.where(counts, grade / np.log2(1 + np.maximum(rank, 1)), 0.0).sum(axis=1)
        nth = np.arange(1, rank.shape[1] + 1)
        best = np.where(nth <= cut[:, None], -np.sort(-judged.grades, axis=1), 0.0)
        return ratio(gain, (best / np.log2(1 + nth)).sum(axis=1), judged.answerable)
