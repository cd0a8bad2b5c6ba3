"""Gold and retrieved characters: what they share, of what they are together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.components.metrics.ranking_metric import ratio, reached
from rag.core.roles import Judgements


@dataclass(frozen=True)
class IntersectionOverUnion:
    """Characters that are gold and retrieved / characters that are gold or retrieved, up to the cut.

    The Jaccard index of two sets of characters; Smith and Troynikov (2024) count tokens, and repeated ones again.
    """

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value per question, NaN where the gold is not spans."""
        both = reached(judged.gold_seen, cut)
        either = judged.gold_chars + reached(judged.chars_seen, cut) - both
        return ratio(both, either, judged.gold_chars > 0)
