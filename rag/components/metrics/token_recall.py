"""How much of a reference answer a reply says, whatever else it says."""

from collections import Counter
from dataclasses import dataclass

from rag.components.metrics.squad import normalised
from rag.core.records import Answer, Example


@dataclass(frozen=True)
class TokenRecall:
    """The share of the words of a reference answer that stand in the reply, normalised as in SQuAD; the best over references.

    Unlike F1 it does not ask for brevity: a sentence that holds the answer has 1.
    """

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN where there is no reference answer, as for questions that the corpus cannot answer."""
        given = Counter(normalised(answer.reply.text).split())
        return max((_recall(given, normalised(wanted).split()) for wanted in example.answers), default=float("nan"))


def _recall(given: Counter[str], wanted: list[str]) -> float:
    if not wanted:
        return float(not given)
    return sum((given & Counter(wanted)).values()) / len(wanted)
