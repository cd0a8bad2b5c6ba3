"""Whether an answer is given where there is one, and only there."""

from dataclasses import dataclass

from rag.core.records import Answer, Example


@dataclass(frozen=True)
class Abstention:
    """1 where a question that cannot be answered is declined or one with gold is answered, rightly or not; else 0.

    Most golden sets hold few questions that cannot be answered, so that answering everything scores well: `answered` and
    `declined` are the two kinds apart.
    """

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question with answers and no evidence."""
        known = example.has_gold or example.to_decline
        return float(answer.abstained == example.to_decline) if known else float("nan")
