"""Scores of a baseline and of a candidate → one verdict per metric and slice, by intervals that hold for all of them together.

The interval [low, high] of candidate - baseline is the corrected one of `rag.evaluation.statistics.paired.family` over
everything that the gate looks at. PASS: low ≥ -margin; FAIL: high < 0 and low < -margin; else INCONCLUSIVE, with the number of
questions that would settle it. A row of fewer than LEAST clusters cannot pass: so few resampled clusters give no interval to
rely on. The exception is a column in which no question of the whole set changed, and the whole set has as many: its slices then
rest on what the whole shows.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from rag.analysis.baseline import DIGITS
from rag.analysis.compare.comparability import matched
from rag.analysis.gate.spec import Margin
from rag.core.errors import DataError
from rag.evaluation.data import slices
from rag.evaluation.data.golden import Golden
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.trial_scores import Result

PASS: Final = "PASS"  # noqa: S105
FAIL: Final = "FAIL"
INCONCLUSIVE: Final = "INCONCLUSIVE"
Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]
INSIDE = "worse, but inside the margin"
LEAST = 10
SLACK = 1e-9

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Finding:
    """A verdict, the reason in words, and the number of questions that would settle what is open, where any would."""

    verdict: Verdict
    why: str
    needed: int | None = None


@dataclass(frozen=True)
class Row:
    """What is said of one metric, on all questions (`slice` is empty) or on a slice; None for what cannot be known.

    `base` and `candidate` are means over the `n` questions that it applies to, in `clusters` clusters; [low, high] is the
    corrected interval of `difference`. `needed` is the number of such questions that would settle it. `advisory` marks a metric
    of a judge without a current calibration card: it warns and decides nothing.
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

    @property
    def name(self) -> str:
        """The metric, and the slice where there is one."""
        return f"{self.column} {self.slice}".strip()

    @property
    def shown(self) -> str:
        """The verdict as people read it."""
        return "WARN" if self.advisory and self.verdict != PASS else self.verdict

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Pair:
    """Scores of the questions that a baseline and a candidate have in common, in the candidate's order."""

    golden: Golden
    columns: tuple[str, ...]
    base: Floats
    candidate: Floats
    cluster: NDArray[np.int64]

    @property
    def differences(self) -> Floats:
        """Candidate - baseline, shape (questions, columns), NaN where a column does not apply."""
        return self.candidate - self.base


def paired(base: Result, candidate: Result, golden: Golden, columns: Sequence[str]) -> Pair:
    """Match questions by what they say; DataError where nothing is left, or where rankings of only one have a score.

    What is said of answers may not apply to one that declines: such a column compares the questions that both answered, and
    `answered` and `declined` are the columns that say how many these are.
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
            raise DataError(
                f"gate.metrics.{column}", what, "a metric gives NaN by the question alone: mend it, or its baseline"
            )
    return Pair(replace(golden, examples=examples), tuple(columns), *sides, cluster_numbers(examples))


def _rows(result: Result, rows: Sequence[int], columns: Sequence[str]) -> Floats:
    places = [result.scores.columns.index(column) for column in columns]
    # A baseline keeps so many digits: what was computed now is compared as it would be kept.
    values: Floats = np.round(result.scores.values[rows][:, places], DIGITS)
    return values


def decide(pair: Pair, margins: Sequence[Margin], same: bool = False, advisory: Collection[str] = ()) -> tuple[Row, ...]:
    """A row for every margin, and for every slice of those along a dimension; `same` says that nothing can have changed.

    Rows of the metrics named in `advisory` are those of judges that may not fail a build.
    """
    looked = [(margin, name, members) for margin in margins for name, members in _parts(pair, margin)]
    if not looked:
        return ()
    found = _tested(
        np.stack([np.where(members, _of(pair, margin), np.nan) for margin, _, members in looked], axis=1), pair.cluster
    )
    return tuple(_row(pair, *each, found[:, number], same, each[0].column in advisory) for number, each in enumerate(looked))


def _tested(differences: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Corrected ends of every column, shape (2, columns); NaN for a single cluster, and where no question changed."""
    ends = np.full((2, differences.shape[1]), np.nan)
    known = [bool(np.nan_to_num(one).any()) and len(np.unique(cluster[~np.isnan(one)])) > 1 for one in differences.T]
    if any(known):
        found = family(differences[:, known], cluster)
        ends[:, known] = found.corrected_low, found.corrected_high
    return ends


def _row(pair: Pair, margin: Margin, name: str, members: Flags, ends: Floats, same: bool, is_advisory: bool) -> Row:
    place = pair.columns.index(margin.column)
    base, candidate = pair.base[members, place], pair.candidate[members, place]
    applies = ~np.isnan(base)
    n, clusters = int(applies.sum()), len(np.unique(pair.cluster[members][applies]))
    trusted = same or clusters >= LEAST or _unmoved(pair, margin.column)
    difference, low, high = _mean(candidate - base), float(ends[0]), float(ends[1])
    found = verdict_of((difference, low, high), margin.margin, n, clusters, trusted)
    return Row(
        column=margin.column,
        slice=name,
        margin=margin.margin,
        n=n,
        clusters=clusters,
        base=_known(_mean(base)),
        candidate=_known(_mean(candidate)),
        difference=_known(difference),
        low=_known(low),
        high=_known(high),
        verdict=found.verdict,
        why=found.why,
        needed=found.needed,
        advisory=is_advisory,
    )


def _parts(pair: Pair, margin: Margin) -> list[tuple[str, Flags]]:
    """Slices by name and members; along a dimension, those that the metric says something of."""
    if not margin.slice:
        return [("", np.ones(len(pair.golden.examples), np.bool_))]
    if "=" in margin.slice:
        return [(margin.slice, slices.find_slice(pair.golden, margin.slice).members)]
    applies = ~np.isnan(_of(pair, margin))
    return [
        (part.name, part.members) for part in slices.slices_along(pair.golden, (margin.slice,)) if applies[part.members].any()
    ]


def _of(pair: Pair, margin: Margin) -> Floats:
    return pair.differences[:, pair.columns.index(margin.column)]


def _unmoved(pair: Pair, column: str) -> bool:
    differences = pair.differences[:, pair.columns.index(column)]
    applies = ~np.isnan(differences)
    return not np.any(differences[applies]) and len(np.unique(pair.cluster[applies])) >= LEAST


def verdict_of(interval: tuple[float, float, float], margin: float, n: int, clusters: int, trusted: bool) -> Finding:
    """What is said of a difference with its two ends; `trusted` says that there are clusters enough to pass.

    Half-widths shrink with the square root of the number of questions: it is settled when that is below the loss (then it is
    one) or below the loss and the margin together (then it is inside).
    """
    difference, low, high = interval
    if n == 0:
        return Finding(INCONCLUSIVE, "no question has a value")
    if high < 0 and low < -margin - SLACK:
        return Finding(FAIL, "worse, and more than the margin may be lost")
    settled = needed_for(interval, margin, n)
    if not trusted:
        needed = settled and max(math.ceil(LEAST * n / clusters), settled)
        return Finding(INCONCLUSIVE, f"too few questions: {_counted(n, clusters)}, and {LEAST} clusters are the least", needed)
    if math.isnan(low) or low >= -margin - SLACK:
        return Finding(PASS, _passed(difference, low, high))
    return Finding(INCONCLUSIVE, "may be worse by more than the margin, or not", settled)


def _counted(n: int, clusters: int) -> str:
    questions = "1 question" if n == 1 else f"{n} questions"
    return questions if clusters == n else f"{questions} in {clusters} cluster{'' if clusters == 1 else 's'}"


def _passed(difference: float, low: float, high: float) -> str:
    if high < 0:
        return INSIDE
    return "better" if low > 0 else "inside the margin" if difference else "no change"


def needed_for(interval: tuple[float, float, float], margin: float, n: int) -> int | None:
    """How many questions make an interval narrow enough; None where no number does, or without a width: nothing varied."""
    difference, low, high = interval
    half = max(difference - low, high - difference)
    reach = max(-difference, difference + margin)
    if not half > SLACK or reach <= SLACK:
        return None
    return max(n + 1, math.ceil(n * (half / reach) ** 2 - SLACK))


def _mean(values: Floats) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else math.nan


def _known(value: float) -> float | None:
    return round(value, DIGITS) + 0.0 if math.isfinite(value) else None
