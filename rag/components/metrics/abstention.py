"""Whether answerable questions are answered, and the others declined."""

from rag.core.types import Answer, Example


class Abstention:
    """1 if a question with gold is answered, rightly or not, or an unanswerable one is declined; else 0.

    Most golden sets have few unanswerable questions, so a pipeline that answers everything scores well. `answered` and
    `declined` measure the two kinds separately.
    """

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question with reference answers and no evidence."""
        known = example.has_gold or example.to_decline
        return float(answer.abstained == example.to_decline) if known else float("nan")
