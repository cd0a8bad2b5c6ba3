"""Share of the evidence groups that a ranking satisfies."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import ratio, satisfied_groups
from rag.core.roles import Judgements


@dataclass(frozen=True)
class Recall:
    """Groups satisfied up to the cut / groups; `recall_k` of trec_eval for document gold."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where there is no gold."""
        return ratio(satisfied_groups(judged, cut).sum(axis=1), (judged.group_ranks >= 0).sum(axis=1), judged.answerable)
