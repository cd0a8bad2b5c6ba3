"""The Protocols of metrics and judges, and the data that ranking metrics read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag.core.assessments import Assessment, Case, Verdict
from rag.core.types import Answer, Example


@dataclass(frozen=True)
class Judgements:
    """The data of ranking metrics for n questions at once; `rag.evaluation.gold_matching.Judged` defines how it is counted.

    An *item* is a chunk, or a document if all gold of the question is whole documents. Items are ordered by rank (from 1),
    columns of [n, D] arrays are ranks; groups are in the order of the evidence.
    """

    group_ranks: NDArray[np.int32]
    """[n, G]: the rank at which a group is satisfied, 0 if it never is, -1 beyond the last group of the question."""
    grades: NDArray[np.float64]
    """[n, G]: the grade of a group, 0 beyond the last one."""
    relevant: NDArray[np.bool_]
    """[n, D]: whether the item at a rank is relevant."""
    judged: NDArray[np.bool_]
    """[n, D]: whether the golden set has a judgement of the item, or of its whole document, for this question."""
    gold_seen: NDArray[np.int64]
    """[n, D]: different gold characters in the items up to a rank."""
    chars_seen: NDArray[np.int64]
    """[n, D]: different characters in the items up to a rank."""
    chars_read: NDArray[np.int64]
    """[n, D]: characters in the items up to a rank; those that overlapping passages repeat count again."""
    gold_chars: NDArray[np.int64]
    """[n]: all gold characters of a question, 0 if its gold is not characters."""
    items: NDArray[np.int64]
    """[n]: the length of the ranking."""
    answerable: NDArray[np.bool_]
    """[n]: whether the question has gold."""


@runtime_checkable
class RankingMetric(Protocol):
    """Measures rankings against gold at a cut-off."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value in [0, 1] per question, NaN without gold; `cut[q]` is the last rank that counts."""


@runtime_checkable
class AnswerMetric(Protocol):
    """Compares one answer with the golden question."""

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN if the metric does not apply."""


@runtime_checkable
class AssessedMetric(Protocol):
    """Measures an answer by the assessment of a judge. `needs` are the `rag.core.assessments.PARTS` that it reads."""

    needs: ClassVar[tuple[str, ...]]

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN if the metric does not apply, or if the judge failed."""


@runtime_checkable
class Judge(Protocol):
    """Measures the support of texts by their contexts."""

    @property
    def threshold(self) -> float:
        """The support in [0, 1] from which a claim counts as supported."""

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, which depends only on that case. A claim that cannot be judged has a failure."""

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The relevance of each (question, text) in [0, 1]; NaN for a failure."""
