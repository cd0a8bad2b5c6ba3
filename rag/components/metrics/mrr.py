"""Reciprocal rank of the first satisfied group."""

import numpy as np

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, satisfied_groups
from rag.core.roles import Judgements


class ReciprocalRank:
    """1 / the first rank up to the cut at which any group is satisfied, 0 without such a rank.

    Its mean over questions is MRR; `recip_rank` of trec_eval on the first k documents for document gold.
    """

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold."""
        ranks = np.where(satisfied_groups(judged, cut), judged.group_ranks, np.inf)
        return ratio(1 / ranks.min(axis=1), 1, judged.answerable)
