"""Share of the citations that support their sentence: citation precision of ALCE, by a judge instead of gold."""

import math
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.types import Answer


class CitationSupportPrecision:
    """The share of citations that are needed (Gao et al. 2023, ALCE, citation precision).

    A citation is needed if all citations of its sentence together support it, and either this one supports it alone or the
    others do not without it.
    """

    needs: ClassVar[tuple[str, ...]] = ("citations",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; 0 without citations, NaN for an abstention and if no citing sentence could be judged."""
        if answer.abstained:
            return math.nan
        citing = [sentence for sentence in assessment.citations if sentence.contexts]
        known = [sentence for sentence in citing if not math.isnan(sentence.support)]
        if citing and not known:
            return math.nan
        cited = sum(len(sentence.contexts) for sentence in known)
        return sum(sum(sentence.needed) for sentence in known) / cited if cited else 0.0
