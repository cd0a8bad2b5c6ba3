"""Share of the retrieved characters that are gold."""

from rag.components.metrics.ranking_metric import Cuts, Scores, ratio, total_at
from rag.core.roles import Judgements


class CharPrecision:
    """Different gold characters / different characters up to the cut; characters in overlapping chunks count once."""

    def score(self, judged: Judgements, cut: Cuts) -> Scores:
        """One value per question, NaN if the gold is not spans, 0 if nothing is retrieved."""
        return ratio(total_at(judged.gold_seen, cut), total_at(judged.chars_seen, cut), judged.gold_chars > 0)
