"""How many sentences of an answer are carried by what they cite: citation recall of ALCE, with a judge instead of gold."""

import math
from dataclasses import dataclass
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.records import Answer


@dataclass(frozen=True)
class CitationSupport:
    """The share of sentences that what they cite supports all together (Gao et al. 2023, ALCE, citation recall).

    A sentence without a citation counts as one that is not supported.
    """

    needs: ClassVar[tuple[str, ...]] = ("citations",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; 0 where nothing is claimed, NaN for an abstention and where no sentence could be judged."""
        if answer.abstained:
            return math.nan
        known = [one for one in assessment.citations if not (one.contexts and math.isnan(one.support))]
        if assessment.citations and not known:
            return math.nan
        return sum(one.support >= assessment.threshold for one in known) / len(known) if known else 0.0
