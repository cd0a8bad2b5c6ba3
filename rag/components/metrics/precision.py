"""Share of the first items that are relevant."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import counted, ratio
from rag.core.roles import Judgements


@dataclass(frozen=True)
class Precision:
    """Relevant items up to the cut / cut, also where the ranking is shorter; `P_k` of trec_eval for document gold."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where there is no gold, 0 for a cut of 0."""
        return ratio(counted(judged.relevant, cut), cut, judged.answerable)
