"""Share of the sentences that their citations support: citation recall of ALCE, by a judge instead of gold."""

import math
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.types import Answer


class CitationSupport:
    """The share of sentences that all their cited contexts together support (Gao et al. 2023, ALCE, citation recall).

    A sentence without a citation counts as unsupported.
    """

    needs: ClassVar[tuple[str, ...]] = ("citations",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; 0 without claims, NaN for an abstention and if no sentence could be judged."""
        if answer.abstained:
            return math.nan
        known = [sentence for sentence in assessment.citations if not (sentence.contexts and math.isnan(sentence.support))]
        if assessment.citations and not known:
            return math.nan
        return sum(sentence.support >= assessment.threshold for sentence in known) / len(known) if known else 0.0
