"""Share of the retrieved characters that are gold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import ratio, reached
from rag.core.roles import Judgements


@dataclass(frozen=True)
class CharPrecision:
    """Different gold characters / different characters up to the cut: what overlapping chunks repeat counts once."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where the gold is not spans, 0 where nothing is retrieved."""
        return ratio(reached(judged.gold_seen, cut), reached(judged.chars_seen, cut), judged.gold_chars > 0)
