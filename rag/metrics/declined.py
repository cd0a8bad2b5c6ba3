"""Whether a question that cannot be answered is not."""

from dataclasses import dataclass

from rag.metrics.gold import answerable
from rag.records import Answer, Example


@dataclass(frozen=True)
class Declined:
    """1 where a question without gold is declined, 0 where it is answered all the same."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question with gold."""
        return float("nan") if answerable(example) else float(answer.abstained)
