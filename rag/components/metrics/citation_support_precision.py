"""How many citations of an answer carry their sentence: citation precision of ALCE, with a judge instead of gold."""

import math
from dataclasses import dataclass
from typing import ClassVar

from rag.core.assessments import Assessment
from rag.core.records import Answer


@dataclass(frozen=True)
class CitationSupportPrecision:
    """The share of citations that count (Gao et al. 2023, ALCE, citation precision).

    One counts if all that its sentence cites supports it, unless it does not do so alone and the others do without it.
    """

    needs: ClassVar[tuple[str, ...]] = ("citations",)
    judge: ClassVar[bool] = True

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; 0 where nothing is cited, NaN for an abstention and where no citing sentence could be judged."""
        if answer.abstained:
            return math.nan
        citing = [one for one in assessment.citations if one.contexts]
        known = [one for one in citing if not math.isnan(one.support)]
        if citing and not known:
            return math.nan
        cited = sum(len(one.contexts) for one in known)
        return sum(sum(one.needed) for one in known) / cited if cited else 0.0
