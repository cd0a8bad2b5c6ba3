"""How early the first find stands."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import ratio, satisfied_groups
from rag.core.roles import Judgements


@dataclass(frozen=True)
class ReciprocalRank:
    """1 / the first rank up to the cut at which any group is satisfied, 0 if there is none.

    Its mean over questions is MRR; `recip_rank` of trec_eval on the first k documents for document gold.
    """

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where there is no gold."""
        ranks = np.where(satisfied_groups(judged, cut), judged.group_ranks, np.inf)
        return ratio(1 / ranks.min(axis=1), 1, judged.answerable)
