"""Share of the words of a reference answer in a reply."""

from collections import Counter

from rag.core.text.languages import check_language
from rag.core.text.squad import normalised
from rag.core.types import Answer, Example


class TokenRecall:
    """Words of a reference answer in the reply / its words, normalised as in SQuAD; the best over the reference answers.

    Unlike F1 it does not reward brevity: a long sentence that contains the answer scores 1.
    """

    def __init__(self, language: str = "english") -> None:
        check_language("metric.token_recall.language", language)
        self.language = language

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN without a reference answer, as for unanswerable questions."""
        given = Counter(normalised(answer.reply.text, self.language).split())
        return max(
            (_recall(given, normalised(wanted, self.language).split()) for wanted in example.answers), default=float("nan")
        )


def _recall(given: Counter[str], wanted: list[str]) -> float:
    if not wanted:
        return float(not given)
    return sum((given & Counter(wanted)).values()) / len(wanted)
