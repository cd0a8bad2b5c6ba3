"""Competing trials → their differences from the best, and the trials that are tied with it. Arithmetic only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.evaluation.statistics.paired import ALPHA, Family, agreeing, family
from rag.execution.sweep.selection.contest import plausible
from rag.execution.sweep.selection.winner import Entrant, Mean

CLOSE = 1e-12
"""Differences of one question below this are rounding errors of sums."""


@dataclass(frozen=True)
class Race:
    """Entrants, best first, and their differences from the first: `column` is the place of each in `differences`.

    Trials with equal scores on every question share a column; a trial that equals the best has None.
    """

    entrants: Sequence[Entrant]
    differences: Family | None
    column: Mapping[str, int | None]

    def behind(self, trial_id: str) -> Mean | None:
        """The difference of a trial from the best, corrected; None where nothing was compared."""
        if self.differences is None or trial_id not in self.column:
            return None
        column = self.column[trial_id]
        if column is None:
            return Mean(0.0, 0.0, 0.0)
        parts = self.differences.mean, self.differences.corrected_low, self.differences.corrected_high
        return Mean(*(float(part[column]) for part in parts))

    @cached_property
    def tied(self) -> list[Entrant]:
        """The best, and every trial that is not shown to be worse."""
        if self.differences is None:
            return list(self.entrants[:1])
        worse = self.differences.significant & (self.differences.mean < 0)
        columns = {each.trial_id: self.column.get(each.trial_id) for each in self.entrants}
        return [each for each in self.entrants if (column := columns[each.trial_id]) is None or not worse[column]]

    @property
    def nearest(self) -> tuple[Entrant, Mean] | None:
        """The best of those that are shown to be worse."""
        tied = {each.trial_id for each in self.tied}
        worse = [(each, self.behind(each.trial_id)) for each in self.entrants if each.trial_id not in tied]
        return next(((each, behind) for each, behind in worse if behind is not None), None)


def race(entrants: Sequence[Entrant], cluster: Ints, span: float = 1.0) -> Race:
    """Compare every entrant with the first, the best by mean; nothing is compared where there are no values per question.

    `p_adjusted` of a difference is the p-value of the hypothesis that no trial is better than this one (`contest.plausible`).
    Two trials cannot differ by more than `span`.
    """
    best = entrants[0]
    if best.values is None or any(other.values is None for other in entrants):
        return Race(entrants, None, {})
    distinct: dict[bytes, int] = {}
    columns: list[Floats] = []
    column: dict[str, int | None] = {best.trial_id: None}
    for other in entrants[1:]:
        difference = np.asarray(other.values) - best.values
        difference[np.abs(difference) < CLOSE] = 0.0
        if not np.nan_to_num(difference).any():
            column[other.trial_id] = None
            continue
        column[other.trial_id] = place = distinct.setdefault(difference.tobytes(), len(columns))
        columns += [difference] if place == len(columns) else []
    if not columns:
        return Race(entrants, family(np.zeros((len(cluster), 0)), cluster), column)
    differences = np.stack(columns, axis=1)
    tested = family(differences, cluster, span)
    p = plausible(np.column_stack([np.zeros(len(cluster)), differences]), cluster)[1:]
    ends = agreeing(tested.corrected_low, tested.corrected_high, tested.mean, p <= ALPHA)
    return Race(entrants, replace(tested, p_adjusted=p, corrected_low=ends[0], corrected_high=ends[1]), column)
