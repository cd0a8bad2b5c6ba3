"""Whether a reply is a reference answer."""

from dataclasses import dataclass

from rag.components.metrics.squad import normalised
from rag.core.records import Answer, Example


@dataclass(frozen=True)
class ExactMatch:
    """1 where the reply equals any reference answer after SQuAD's normalisation, else 0."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN where there is no reference answer, as for questions that the corpus cannot answer."""
        if not example.answers:
            return float("nan")
        given = normalised(answer.reply.text)
        return float(any(normalised(wanted) == given for wanted in example.answers))
