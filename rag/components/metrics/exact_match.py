"""Exact match with a reference answer."""

from rag.core.text.languages import check_language
from rag.core.text.squad import normalised
from rag.core.types import Answer, Example


class ExactMatch:
    """1 if the reply equals any reference answer after SQuAD's normalisation, else 0."""

    def __init__(self, language: str = "english") -> None:
        check_language("metric.exact_match.language", language)
        self.language = language

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN without a reference answer, as for unanswerable questions."""
        if not example.answers:
            return float("nan")
        given = normalised(answer.reply.text, self.language)
        return float(any(normalised(wanted, self.language) == given for wanted in example.answers))
