"""Judges whose weights come from labels of people."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rag.core.arrays import Floats
from rag.core.assessments import Case
from rag.core.roles import Judge
from rag.execution.judges.human_labels import Labelled

Weights = Mapping[str, float]


@runtime_checkable
class Fitted(Protocol):
    """A judge whose weights come from labels."""

    @property
    def weights(self) -> Weights:
        """The fitted weights."""
        ...

    @property
    def fitted_on(self) -> Mapping[str, Weights]:
        """The sha256 of every file of labels, and the weights that the other files give."""
        ...

    def measure(self, cases: Sequence[Case]) -> Floats:
        """The features of texts, one row per text."""
        ...

    def refitted(self, measures: Sequence[Floats], labels: Sequence[Sequence[bool]]) -> "Fitted":
        """The same judge with weights from the labels of several sets, which count alike."""
        ...

    def without(self, digest: str) -> Judge:
        """The judge with the weights of all files but this one."""
        ...


def fit(judge: Fitted, sets: Sequence[Labelled]) -> dict[str, Any]:
    """The `weights` of some sets together, and `fitted_on`, the weights without each set; empty for a single set."""
    measures = [judge.measure(one.cases) for one in sets]
    labels = [one.labels for one in sets]
    others = [[row for row in range(len(sets)) if row != own] for own in range(len(sets)) if len(sets) > 1]
    apart = [judge.refitted([measures[row] for row in rows], [labels[row] for row in rows]).weights for rows in others]
    fitted_on = {one.digest: dict(weights) for one, weights in zip(sets, apart or [{}], strict=True)}
    return {"weights": dict(judge.refitted(measures, labels).weights), "fitted_on": fitted_on}
