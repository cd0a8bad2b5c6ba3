"""Whether an unanswerable question is declined."""

from rag.core.types import Answer, Example


class Declined:
    """1 if a question that the corpus cannot answer is declined, 0 if it is answered."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question with gold or reference answers."""
        return float(answer.abstained) if example.to_decline else float("nan")
