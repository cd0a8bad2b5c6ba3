"""Whether a message is taken for what it is."""

import math

from rag.core.types import Answer, Example


class InputKind:
    """1 if a message is taken for its golden kind (question, pleasantry, conversation, off_topic), else 0."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a message without a golden kind."""
        return float(answer.input == example.input) if example.input else math.nan
