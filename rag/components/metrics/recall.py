"""Share of the evidence groups that a ranking satisfies."""

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, satisfied_groups
from rag.core.roles import Judgements


class Recall:
    """Groups satisfied up to the cut / groups; `recall_k` of trec_eval for document gold."""

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold."""
        return ratio(satisfied_groups(judged, cut).sum(axis=1), (judged.group_ranks >= 0).sum(axis=1), judged.answerable)
