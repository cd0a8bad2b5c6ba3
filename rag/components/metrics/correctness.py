"""How right an answer is, compared with the reference answers."""

import math
from typing import ClassVar

from rag.core.assessments import REFERENCE, Assessment
from rag.core.types import Answer


class Correctness:
    """Whether the answer says what the reference says: by rules for values, names and yes or no, by a judge for sentences.

    1 for the value, or for all of the set, that `expects` or a short reference names; 0 for another value, a denial or an
    abstention. A reference of sentences is compared by claims: the F1 of recall and precision of claims (weight .75) and the F1
    of words (.25). The best reference counts. docs/correctness.md has the rules and how far they agree with people.
    """

    needs: ClassVar[tuple[str, ...]] = (REFERENCE,)
    judge: ClassVar[bool] = True
    languages: ClassVar[tuple[str, ...]] = ("english",)

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN without a reference, for a question to decline, and if the judge failed."""
        return assessment.reference.value if assessment.reference else math.nan
