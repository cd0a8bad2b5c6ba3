"""Average precision over evidence groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import by_rank, ratio
from rag.core.roles import Judgements


@dataclass(frozen=True)
class AveragePrecision:
    """1/G · Σ j / max(r_j, j) over the satisfied groups with r_j up to the cut, r_1 ≤ r_2 ≤ …, G being all groups.

    Its mean over questions is MAP; `map_cut_k` of trec_eval for document gold.
    """

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where there is no gold."""
        rank, _ = by_rank(judged, cut)
        nth = np.arange(1, rank.shape[1] + 1)
        precisions = np.where(rank > 0, nth / np.maximum(rank, 1), 0.0)
        return ratio(precisions.sum(axis=1), (judged.group_ranks >= 0).sum(axis=1), judged.answerable)
