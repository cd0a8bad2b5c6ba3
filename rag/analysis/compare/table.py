"""The result of a comparison: rows of figures, and the questions that were not compared."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from rag.core.numbers import jsonable
from rag.evaluation.statistics.paired import ALPHA


@dataclass(frozen=True)
class Comparison:
    """One column of a candidate compared with the base, on all questions (`slice` is empty) or on a slice. NaN: unknown.

    `n` questions in `clusters` clusters have a value in both. `difference` is candidate - base, [low, high] its own 95 %
    interval, [corrected_low, corrected_high] that corrected for the family; `p` is its own p-value, `p_adjusted` that adjusted
    for the family. `effect` is the mean difference in its standard deviations. `detectable` is the smallest difference that
    these questions detect in four of five tries, `needed` the number of questions that would detect the observed one. `shrunk`
    is the difference of a slice after shrinkage (`rag.evaluation.data.slices.shrunk`). A row of one cluster is not tested.
    `lower` says that less of the column is better.
    """

    base_name: str
    candidate_name: str
    column: str
    slice: str
    n: int
    clusters: int
    base_mean: float
    candidate_mean: float
    difference: float
    low: float
    high: float
    corrected_low: float
    corrected_high: float
    p: float
    p_adjusted: float
    effect: float
    wins: int
    ties: int
    losses: int
    detectable: float
    needed: float
    shrunk: float
    base_id: str = ""
    candidate_id: str = ""
    lower: bool = False

    @property
    def tested(self) -> bool:
        """True if the row has more than one cluster, so that it was tested."""
        return not math.isnan(self.p_adjusted)

    @property
    def significant(self) -> bool:
        """True if the difference is significant at 5 % for the family."""
        return self.p_adjusted <= ALPHA

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values; None for NaN, and for an infinite number of questions."""
        return dict(jsonable(asdict(self))) | {"significant": self.significant}


@dataclass(frozen=True)
class Table:
    """All rows of a comparison; `family` is the number of tested differences.

    `added` and `removed` are questions that only a candidate, or only the base, has; `changed` have another content. They are
    not compared. `notes` are sentences about files of scores.
    """

    rows: tuple[Comparison, ...]
    family: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What `rag study compare --json` prints."""
        questions = {name: list(getattr(self, name)) for name in ("added", "removed", "changed", "notes")}
        return {"family": self.family, **questions, "rows": [row.to_json() for row in self.rows]}
