"""How far the contexts of an answer speak to its question."""

import math
from dataclasses import dataclass
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.records import Answer


@dataclass(frozen=True)
class ContextRelevance:
    """The mean relevance of the contexts to the question, as the judge gives it: needs no gold, and counts every context."""

    needs: ClassVar[tuple[str, ...]] = ("contexts",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN where nothing was read, or nothing of it could be judged."""
        known = [value for value in assessment.contexts if not math.isnan(value)]
        return math.fsum(known) / len(known) if known else math.nan
