"""Whether an answer is given where there is one, and only there."""

from dataclasses import dataclass

from rag.metrics.gold import answerable
from rag.records import Answer, Example


@dataclass(frozen=True)
class Abstention:
    """1 where a question without gold is declined or one with gold is answered, rightly or not; else 0.

    Most golden sets hold few questions without gold, so that answering everything scores well: `answered` and `declined` are
    the two kinds apart.
    """

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1, for every question."""
        return float(answer.abstained != answerable(example))
