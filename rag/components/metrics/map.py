"""Average precision over evidence groups."""

import numpy as np

from rag.components.metrics.ranking_metric import Cuts, Scores, by_rank, ratio
from rag.core.roles import Judgements


class AveragePrecision:
    """1/G · Σ j / max(r_j, j) over the satisfied groups with r_j up to the cut, r_1 ≤ r_2 ≤ …, with G groups in all.

    Its mean over questions is MAP; `map_cut_k` of trec_eval for document gold.
    """

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold."""
        rank, _ = by_rank(judged, cut)
        nth = np.arange(1, rank.shape[1] + 1)
        precisions = np.where(rank > 0, nth / np.maximum(rank, 1), 0.0)
        return ratio(precisions.sum(axis=1), (judged.group_ranks >= 0).sum(axis=1), judged.answerable)
