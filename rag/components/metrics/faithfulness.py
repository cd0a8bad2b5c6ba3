"""How far an answer follows from its contexts."""

from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.types import Answer


class Faithfulness:
    """The support of the whole answer if the judge measures it (`Verdict.whole`), else the mean support of its claims.

    As in Es et al. 2024, "RAGAs", but without rounding each support to 0 or 1.
    """

    needs: ClassVar[tuple[str, ...]] = ("verdict",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1], 0 for a failed answer; NaN without claims, and if none could be judged."""
        if answer.abstained:
            return float("nan")
        return assessment.verdict.faithfulness if assessment.verdict else 0.0
