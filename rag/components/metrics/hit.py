"""Whether anything that was looked for is found."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import ratio, satisfied_groups
from rag.core.roles import Judgements


@dataclass(frozen=True)
class Hit:
    """1 where any group is satisfied up to the cut, else 0; `success_k` of trec_eval for document gold."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where there is no gold."""
        return ratio(satisfied_groups(judged, cut).any(axis=1), 1, judged.answerable)
