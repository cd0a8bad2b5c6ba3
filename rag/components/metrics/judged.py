"""The share of a ranking with a relevance judgement."""

import numpy as np

from rag.components.metrics.ranking_metric import Cuts, Scores, count_up_to, ratio
from rag.core.roles import Judgements


class JudgedShare:
    """Items up to the cut that were judged for the question / items up to the cut; `Judged@k` of ir_measures for documents.

    With a low value the other metrics may underrate the ranking: unjudged items count as not relevant.
    """

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold, 0 if nothing is retrieved."""
        return ratio(count_up_to(judged.judged, cut), np.minimum(cut, judged.items), judged.answerable)
