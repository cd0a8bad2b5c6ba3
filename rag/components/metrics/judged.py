"""How much of a ranking somebody has looked at."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import counted, ratio
from rag.core.roles import Judgements


@dataclass(frozen=True)
class JudgedShare:
    """Items up to the cut whose document was judged for the question / items up to the cut; `Judged@k` of ir_measures.

    Low values say that the other metrics may underrate a ranking that found what nobody judged.
    """

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where there is no gold, 0 where nothing is retrieved."""
        return ratio(counted(judged.judged, cut), np.minimum(cut, judged.items), judged.answerable)
