"""Scores of a baseline and of a candidate → one verdict per metric and slice, by intervals corrected for all of them.

The interval [low, high] of candidate - baseline is the corrected one of `rag.evaluation.statistics.paired.family` over all rows
of the gate. PASS: low ≥ -margin; FAIL: high < 0 and low < -margin; else INCONCLUSIVE, with the number of questions that would
settle it. A row with fewer than LEAST clusters cannot pass: intervals over so few resampled clusters are not reliable. The
exception is a column in which no question of the whole set changed, if the whole set has enough clusters: its slices pass.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rag.analysis.baseline import DIGITS
from rag.analysis.compare.comparability import matched, span_of
from rag.analysis.gate.finding import LEAST, PASS, Verdict, verdict_of
from rag.analysis.gate.power import LOSS, row_power
from rag.analysis.gate.spec import Margin
from rag.core.arrays import Flags, Floats, Ints
from rag.core.errors import DataError
from rag.core.numbers import mean
from rag.evaluation.data import slices
from rag.evaluation.data.golden import Golden
from rag.evaluation.statistics.paired import ALPHA, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.trial_scores import Result


class Judged:
    """What rows and bounds have in common: a verdict, its reason, and whether it decides or warns only.

    `advisory` marks a metric of a judge without a current calibration card: it warns and does not decide.
    """

    verdict: Verdict
    why: str
    needed: int | None
    advisory: bool

    @property
    def label(self) -> str:
        """The verdict as reports show it."""
        return "WARN" if self.advisory and self.verdict != PASS else self.verdict

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class Row(Judged):
    """The result for one metric, on all questions (`slice` is empty) or on a slice; None for what is unknown.

    `base` and `candidate` are means over the `n` questions that the metric applies to, in `clusters` clusters; [low, high] is
    the corrected interval of `difference`. `needed` is the number of such questions that would settle it.
    The row fails in a share `power` of tries if the metric loses `loss` (`rag.analysis.gate.power`).
    """

    column: str
    slice: str
    margin: float
    n: int
    clusters: int
    base: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    why: str
    needed: int | None = None
    advisory: bool = False
    loss: float = LOSS
    power: float | None = None

    @property
    def name(self) -> str:
        """The metric, and the slice if there is one."""
        return f"{self.column} {self.slice}".strip()


@dataclass(frozen=True)
class Pair:
    """Scores of the questions that a baseline and a candidate have in common, in the candidate's order."""

    golden: Golden
    columns: tuple[str, ...]
    base: Floats
    candidate: Floats
    cluster: Ints

    @property
    def differences(self) -> Floats:
        """Candidate - baseline, shape (questions, columns), NaN where a column does not apply."""
        return self.candidate - self.base

    def change(self, column: str) -> Floats:
        """The differences in one column."""
        return self.differences[:, self.columns.index(column)]


def paired(base: Result, candidate: Result, golden: Golden, columns: Sequence[str]) -> Pair:
    """Match questions by content; DataError if none is left, or if only one side has a score for a ranking.

    A metric of answers may not apply to an abstention: such a column compares the questions that both sides answered; the
    columns `answered` and `declined` show how many these are.
    """
    kept, there, here = matched(base, candidate, golden)
    examples = tuple(golden.examples[row] for row in kept)
    sides = _rows(base, there, columns), _rows(candidate, here, columns)
    for number, column in enumerate(columns):
        odd = np.flatnonzero(np.isnan(sides[0][:, number]) != np.isnan(sides[1][:, number]))
        if "@" not in column:
            for side in sides:
                side[odd, number] = np.nan
        elif len(odd):
            first = examples[odd[0]].query.query_id
            what = f"{len(odd)} questions have a score in one of baseline and candidate only, the first is {first!r}"
            remedy = "a metric must give NaN by the question alone: fix the metric, or make the baseline again"
            raise DataError(f"gate.metrics.{column}", what, remedy)
    return Pair(replace(golden, examples=examples), tuple(columns), *sides, cluster_numbers(examples))


def _rows(result: Result, rows: Sequence[int], columns: Sequence[str]) -> Floats:
    places = [result.scores.columns.index(column) for column in columns]
    # A baseline stores rounded scores, so new scores are rounded alike.
    values: Floats = np.round(result.scores.values[rows][:, places], DIGITS)
    return values


def decide(pair: Pair, margins: Sequence[Margin], same: bool = False, advisory: Collection[str] = ()) -> tuple[Row, ...]:
    """One row per margin, and per slice for a margin along a dimension; `same` is true if no score can have changed.

    The metrics in `advisory` belong to judges that may not fail a build.
    """
    parts = [(margin, name, members) for margin in margins for name, members in _parts(pair, margin)]
    if not parts:
        return ()
    columns = [np.where(members, pair.change(margin.column), np.nan) for margin, _, members in parts]
    both = np.stack([pair.base, pair.candidate])
    spans = [span_of(margin.column, both[:, :, pair.columns.index(margin.column)]) for margin, _, _ in parts]
    tested = _tested(np.stack(columns, axis=1), pair.cluster, np.array(spans))
    return tuple(_row(pair, *part, tested[:, number], same, part[0].column in advisory) for number, part in enumerate(parts))


def _tested(differences: Floats, cluster: Ints, spans: Floats) -> Floats:
    """Corrected ends, error and level of the interval of every column, and its span, shape (5, columns).

    The ends are NaN for a single cluster, and if no question changed. Such columns have their share of the level, for power.
    """
    known = [bool(np.nan_to_num(column).any()) and _clusters(column, cluster) > 1 for column in differences.T]
    results = np.stack([*np.full((3, len(known)), np.nan), np.full(len(known), ALPHA / len(known)), spans])
    if any(known):
        tested = family(differences[:, known], cluster, spans[known])
        results[:3, known] = tested.corrected_low, tested.corrected_high, tested.error
        results[3] = tested.level[0] / (1 + len(known) - sum(known))
    return results


def _clusters(values: Floats, cluster: Ints) -> int:
    return len(np.unique(cluster[~np.isnan(values)]))


def _row(pair: Pair, margin: Margin, name: str, members: Flags, tested: Floats, same: bool, is_advisory: bool) -> Row:
    place = pair.columns.index(margin.column)
    base, candidate = pair.base[members, place], pair.candidate[members, place]
    n, clusters = int((~np.isnan(base)).sum()), _clusters(base, pair.cluster[members])
    whole = pair.change(margin.column)
    unmoved = not np.nan_to_num(whole).any() and _clusters(whole, pair.cluster) >= LEAST
    interval = mean(candidate - base), float(tested[0]), float(tested[1])
    finding = verdict_of(interval, margin.margin, n, clusters, trusted=same or clusters >= LEAST or unmoved)
    difference, low, high = map(_rounded, interval)
    loss, power = row_power(base, pair.cluster[members], margin.margin, *tested[2:].tolist())
    return Row(
        column=margin.column,
        slice=name,
        margin=margin.margin,
        n=n,
        clusters=clusters,
        base=_rounded(mean(base)),
        candidate=_rounded(mean(candidate)),
        difference=difference,
        low=low,
        high=high,
        **vars(finding),
        advisory=is_advisory,
        loss=loss,
        power=_rounded(power),
    )


def _parts(pair: Pair, margin: Margin) -> list[tuple[str, Flags]]:
    """Slices by name and members; along a dimension, those with a value of the metric."""
    if not margin.slice:
        return [("", np.ones(len(pair.cluster), np.bool_))]
    if "=" in margin.slice:
        return [(margin.slice, slices.find_slice(pair.golden, margin.slice).members)]
    applies = ~np.isnan(pair.change(margin.column))
    return [
        (part.name, part.members) for part in slices.slices_along(pair.golden, (margin.slice,)) if applies[part.members].any()
    ]


def _rounded(value: float) -> float | None:
    return round(value, DIGITS) + 0.0 if math.isfinite(value) else None
