"""What a comparison found: rows of figures, and the questions that were left out."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from rag.evaluation.statistics.paired import ALPHA


@dataclass(frozen=True)
class Comparison:
    """One column of a candidate, on all questions (`slice` is empty) or on a slice, against the base. NaN: cannot be known.

    `n` questions in `clusters` clusters have a value in both. `difference` is candidate - base, [low, high] its 95 % interval
    by itself, [corrected_low, corrected_high] beside the whole family; `p` by itself, `p_adjusted` beside the family. `effect`
    is the mean difference in its standard deviations. `detectable` is the smallest difference that these questions would have
    shown in four of five tries, `needed` the number of questions that would show the one that was seen. `shrunk` is the
    difference that a slice of this size can be believed to have (`rag.evaluation.data.slices.shrunk`). A row of one cluster is
    not tested.
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

    @property
    def tested(self) -> bool:
        """Whether there were clusters enough to tell a difference from chance."""
        return not math.isnan(self.p_adjusted)

    @property
    def significant(self) -> bool:
        """Whether a difference is found, at 5 % for the family."""
        return self.p_adjusted <= ALPHA

    def to_json(self) -> dict[str, Any]:
        """JSON values; None for what cannot be known, and for a number of questions that would be infinite."""
        values = asdict(self)
        plain = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values.items()}
        return plain | {"significant": self.significant}


@dataclass(frozen=True)
class Table:
    """Everything that was looked at together. `family` is how many differences were tested.

    `added` and `removed` name questions that only a candidate, or only the base, has; `changed` those that say something else.
    They are not compared.
    """

    rows: tuple[Comparison, ...]
    family: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What `rag compare --json` prints."""
        questions = {name: list(getattr(self, name)) for name in ("added", "removed", "changed")}
        return {"family": self.family, **questions, "rows": [row.to_json() for row in self.rows]}
