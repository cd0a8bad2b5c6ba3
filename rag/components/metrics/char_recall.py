"""Share of the gold characters that are retrieved."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import ratio, reached
from rag.core.roles import Judgements


@dataclass(frozen=True)
class CharRecall:
    """Different gold characters up to the cut / gold characters (Smith and Troynikov 2024, there counted in tokens)."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where the gold is not spans."""
        return ratio(reached(judged.gold_seen, cut), judged.gold_chars, judged.gold_chars > 0)
