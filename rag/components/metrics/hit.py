"""Hit rate: whether any gold is retrieved."""

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, satisfied_groups
from rag.core.roles import Judgements


class Hit:
    """1 if any group is satisfied up to the cut, else 0; `success_k` of trec_eval for document gold."""

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold."""
        return ratio(satisfied_groups(judged, cut).any(axis=1), 1, judged.answerable)
