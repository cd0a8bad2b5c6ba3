"""Whether an answer states the one value that a question expects."""

import math

from rag.core.text.languages import check_language
from rag.core.text.value_rules import states
from rag.core.types import Answer, Example


class ValueMatch:
    """1 if a reply states the expected value and no rival, as `rag.core.text.value_rules.states` compares them, else 0.

    Numbers are equal in any notation and unit of one dimension, dates in any order, names by their words.
    """

    def __init__(self, language: str = "english") -> None:
        check_language("metric.value_match.language", language)
        self.language = language

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1, 0 for an abstention; NaN for a question that expects no single value."""
        if not (example.expects and example.expects.value):
            return math.nan
        stated = states(example.query.text, answer.reply.text, example.expects.value, self.language)
        return float(stated and not answer.abstained)
