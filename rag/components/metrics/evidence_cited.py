"""Share of the evidence groups that an answer cites."""

from rag.components.metrics.gold import CitationMetric, Grounds
from rag.core.types import Answer, Example


class EvidenceCited(CitationMetric):
    """Evidence groups that a context cited by a claiming sentence contains / all groups."""

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1], 0 for an abstention; NaN for a question without gold."""
        return 0.0 if answer.abstained and example.has_gold else super().measure(example, answer)

    def share(self, grounds: Grounds) -> float:
        """The share of groups."""
        cited = sorted({number for numbers in grounds.cited for number in numbers})
        return sum(grounds.holds(cited, group) for group in grounds.groups) / len(grounds.groups)
