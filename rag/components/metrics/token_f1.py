"""F1 of the words of a reply and a reference answer."""

from collections import Counter

from rag.components.metrics.squad import normalised
from rag.core.records import Answer, Example
from rag.core.text.languages import check_language


class TokenF1:
    """Harmonic mean of precision and recall of words, SQuAD's F1; the best over the reference answers."""

    def __init__(self, language: str = "english") -> None:
        check_language("metric.token_f1.language", language)
        self.language = language

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN without a reference answer, as for unanswerable questions."""
        given = normalised(answer.reply.text, self.language).split()
        return max((_f1(given, normalised(wanted, self.language).split()) for wanted in example.answers), default=float("nan"))


def _f1(given: list[str], wanted: list[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))
