"""Whether an answerable question is answered."""

from rag.core.types import Answer, Example


class Answered:
    """1 if a question with gold is answered, rightly or not, 0 if it is declined: a false refusal."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question without gold."""
        return float(not answer.abstained) if example.has_gold else float("nan")
