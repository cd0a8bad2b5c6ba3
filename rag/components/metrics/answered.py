"""Whether a question that can be answered is."""

from dataclasses import dataclass

from rag.components.metrics.gold import answerable
from rag.core.records import Answer, Example


@dataclass(frozen=True)
class Answered:
    """1 where a question with gold is answered, rightly or not, 0 where it is declined: 1 minus the share of false refusals."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question without gold."""
        return float(not answer.abstained) if answerable(example) else float("nan")
