"""F1 of the words of a reply and a reference answer."""

from rag.core.text.languages import check_language
from rag.core.text.squad import f1, normalised
from rag.core.types import Answer, Example


class TokenF1:
    """Harmonic mean of precision and recall of words, SQuAD's F1; the best over the reference answers."""

    def __init__(self, language: str = "english") -> None:
        check_language("metric.token_f1.language", language)
        self.language = language

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN without a reference answer, as for unanswerable questions."""
        given = normalised(answer.reply.text, self.language).split()
        return max((f1(given, normalised(wanted, self.language).split()) for wanted in example.answers), default=float("nan"))
