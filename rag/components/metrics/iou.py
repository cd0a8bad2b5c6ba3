"""Intersection over union of gold and retrieved characters."""

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, total_at
from rag.core.roles import Judgements


class IntersectionOverUnion:
    """Characters that are gold and retrieved / characters that are gold or retrieved, up to the cut.

    The Jaccard index of two sets of characters; Smith and Troynikov (2024) count tokens, repeated ones more than once.
    """

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN if the gold is not spans."""
        both = total_at(judged.gold_seen, cut)
        either = judged.gold_chars + total_at(judged.chars_seen, cut) - both
        return ratio(both, either, judged.gold_chars > 0)
