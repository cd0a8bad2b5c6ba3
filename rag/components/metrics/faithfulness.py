"""How far an answer follows from the contexts that it was made from."""

from dataclasses import dataclass
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.records import Answer


@dataclass(frozen=True)
class Faithfulness:
    """The support of an answer as a whole where the judge says it (`Verdict.whole`), else the mean support of its claims.

    The mean is what Es et al. 2024, "RAGAs", count, without the cut at yes or no.
    """

    needs: ClassVar[tuple[str, ...]] = ("verdict",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1], 0 for an answer that failed; NaN where nothing is claimed or could be judged."""
        if answer.abstained:
            return float("nan")
        return assessment.verdict.faithfulness if assessment.verdict else 0.0
