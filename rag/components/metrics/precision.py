"""Share of the first items that are relevant."""

from rag.components.metrics.ranking_metric import Cuts, Scores, count_up_to, ratio
from rag.core.roles import Judgements


class Precision:
    """Relevant items up to the cut / cut, also for shorter rankings; `P_k` of trec_eval for document gold."""

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN without gold, 0 for a cut of 0."""
        return ratio(count_up_to(judged.relevant, cut), cut, judged.answerable)
