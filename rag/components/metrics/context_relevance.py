"""Relevance of the contexts of an answer to its question."""

from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.numbers import mean
from rag.core.types import Answer


class ContextRelevance:
    """The mean relevance of the contexts to the question by the judge; it needs no gold and counts every context."""

    needs: ClassVar[tuple[str, ...]] = ("contexts",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN without contexts, and if none could be judged."""
        return mean(assessment.contexts)
