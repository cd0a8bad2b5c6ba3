"""Full recall: whether all gold is retrieved."""

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, satisfied_groups
from rag.core.roles import Judgements


class FullRecall:
    """1 if every group is satisfied up to the cut, else 0: what a question needs that combines several passages."""

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold."""
        known = judged.group_ranks >= 0
        return ratio((satisfied_groups(judged, cut) | ~known).all(axis=1), 1, judged.answerable)
