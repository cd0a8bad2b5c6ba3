"""Share of the gold characters that are retrieved."""

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, total_at
from rag.core.roles import Judgements


class CharRecall:
    """Different gold characters up to the cut / gold characters (Smith and Troynikov 2024, who count tokens)."""

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN if the gold is not spans."""
        return ratio(total_at(judged.gold_seen, cut), judged.gold_chars, judged.gold_chars > 0)
