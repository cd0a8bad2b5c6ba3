"""Exact match with a reference answer."""

from rag.components.metrics.squad import normalised
from rag.core.records import Answer, Example


class ExactMatch:
    """1 if the reply equals any reference answer after SQuAD's normalisation, else 0."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN without a reference answer, as for unanswerable questions."""
        if not example.answers:
            return float("nan")
        given = normalised(answer.reply.text)
        return float(any(normalised(wanted) == given for wanted in example.answers))
