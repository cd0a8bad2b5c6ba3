"""Whether a question takes its right route."""

import math

from rag.core.types import Answer, Example


class RouteAccuracy:
    """1 if the mechanism that a router chose is the golden one, else 0; without a router it is `semantic`."""

    def measure(self, example: Example, answer: Answer) -> float:
        """0 or 1; NaN for a question without a golden route."""
        chosen = answer.look.routed.mechanism if answer.look else "semantic"
        return float(chosen == example.route) if example.route else math.nan
