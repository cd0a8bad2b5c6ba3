"""The Protocols of scoring: metrics, what they read, and judges."""

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag.core.assessments import Assessment, Case, Verdict
from rag.core.records import Answer, Example


class Judgements(Protocol):
    """What ranking metrics read, for n questions at once; `rag.evaluation.gold_matching.Judged` says how it is counted.

    An *item* is a chunk, or a document where all gold of the question is whole documents. Items are ordered by rank (from 1),
    columns of [n, D] arrays are ranks; groups are in the order of the evidence.
    """

    @property
    def group_ranks(self) -> NDArray[np.int32]:
        """[n, G]: the rank at which a group is satisfied, 0 if it never is, -1 beyond the last group of the question."""
        ...

    @property
    def grades(self) -> NDArray[np.float64]:
        """[n, G]: the grade of a group, 0 beyond the last one."""
        ...

    @property
    def relevant(self) -> NDArray[np.bool_]:
        """[n, D]: whether the item at a rank is relevant."""
        ...

    @property
    def judged(self) -> NDArray[np.bool_]:
        """[n, D]: whether somebody looked at the document of the item for this question."""
        ...

    @property
    def gold_seen(self) -> NDArray[np.int64]:
        """[n, D]: different gold characters in the items up to a rank."""
        ...

    @property
    def chars_seen(self) -> NDArray[np.int64]:
        """[n, D]: different characters in the items up to a rank."""
        ...

    @property
    def chars_read(self) -> NDArray[np.int64]:
        """[n, D]: characters in the items up to a rank, those that overlapping chunks repeat counted again."""
        ...

    @property
    def gold_chars(self) -> NDArray[np.int64]:
        """[n]: all gold characters of a question, 0 where its gold is not characters."""
        ...

    @property
    def items(self) -> NDArray[np.int64]:
        """[n]: the length of the ranking."""
        ...

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """[n]: whether the question has gold."""
        ...


@runtime_checkable
class RankingMetric(Protocol):
    """Measures rankings against gold at a cut-off."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value in [0, 1] per question, NaN where there is no gold; `cut[q]` is the last rank that counts."""
        ...


@runtime_checkable
class AnswerMetric(Protocol):
    """Measures one answer against what the golden set says of its question."""

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN where it does not apply."""
        ...


@runtime_checkable
class AssessedMetric(Protocol):
    """Measures an answer by what a judge says of it. Its class sets `needs`: the `rag.core.assessments.PARTS` that it reads."""

    needs: ClassVar[tuple[str, ...]]

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN where it does not apply, or where the judge failed."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Says how far texts follow from their contexts. `threshold` is the support from which a claim counts as supported."""

    @property
    def threshold(self) -> float:
        """A support in [0, 1], for those who need yes or no."""
        ...

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, which depends on nothing but that case. What cannot be judged is counted, never left out."""
        ...

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How far the text of each (question, text) speaks to the question, in [0, 1]; NaN for a failure."""
        ...
