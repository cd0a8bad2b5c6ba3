"""How many of the values of an expected set an answer has, and how many others."""

import math

from rag.core.questions import Expected
from rag.core.text.languages import check_language
from rag.core.text.value_rules import expected, set_f1
from rag.core.types import Answer, Example


class SetF1:
    """The F1 of the values, or of the rows of the table, that a question expects.

    An answer from records has the values of its result, all of them; a reply of a model has those that it names, and items of
    its lists that are none of them count as others. The order does not matter.
    """

    def __init__(self, language: str = "english") -> None:
        check_language("metric.set_f1.language", language)
        self.language = language

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1], 0 for an abstention; NaN for a question that expects no set."""
        wanted = example.expects.set if example.expects else ()
        if not wanted:
            return math.nan
        if answer.abstained:
            return 0.0
        if answer.look and answer.look.result and answer.look.answers:
            result = answer.look.result
            return set_f1(result.values or (result.value,), wanted, self.language)
        return expected(example.query.text, answer.reply.text, Expected(values=wanted), self.language).value
