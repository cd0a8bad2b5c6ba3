"""Relevance of an answer to its question."""

from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.types import Answer


class AnswerRelevance:
    """The relevance of an answer to its question by the judge; it does not measure whether the answer is true."""

    needs: ClassVar[tuple[str, ...]] = ("relevance",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN for an abstention, and for an answer that could not be judged."""
        return float("nan") if answer.abstained else assessment.relevance
