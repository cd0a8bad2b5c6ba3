"""How far an answer speaks to its question."""

from dataclasses import dataclass
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.records import Answer


@dataclass(frozen=True)
class AnswerRelevance:
    """The relevance of an answer to its question, as the judge gives it; whether the answer is true it does not say."""

    needs: ClassVar[tuple[str, ...]] = ("relevance",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN for an abstention, and where it could not be judged."""
        return float("nan") if answer.abstained else assessment.relevance
