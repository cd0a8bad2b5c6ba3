"""Whether a question that cannot be answered is not."""

from dataclasses import dataclass

from rag.core.records import Answer, Example


@dataclass(frozen=True)
class Declined:
    """1 where a question that the corpus cannot answer is declined, 0 where it is answered all the same."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question with gold or answers."""
        return float(answer.abstained) if example.to_decline else float("nan")
