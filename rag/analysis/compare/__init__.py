"""Results → paired differences, corrected for the number of comparisons. Reads and writes nothing."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from rag.analysis.compare.comparability import check_column, comparable, differing_questions, matched, one_sided, span_of
from rag.core.arrays import Flags, Floats, Ints
from rag.core.numbers import jsonable
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.slices import Slice, shrunk
from rag.evaluation.statistics.paired import ALPHA, Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.trial_scores import Result


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


UNTOLD = ("error", "level")
"""Fields of a Family that a comparison does not show."""
TINY = 1e-6
"""Scores that differ by less are equal: a baseline stores six digits."""


def compare(
    base: Result,
    candidates: Sequence[Result],
    golden: Golden,
    columns: Sequence[str],
    slices: Sequence[Slice],
    bridges: Collection[str] = (),
    sliced: Collection[str] | None = None,
) -> Table:
    """Compare every candidate with the base in every column, on all questions and on every slice, as one family.

    Questions are matched by content, not by id alone. `golden` holds every question that base and candidates have in common,
    `slices` are its slices, and `sliced` the columns that are compared by slice (default: all). Raises ConfigError for results
    that are not comparable (see `comparable`) and for a column that one of them lacks, DataError if no question is left or if
    only one side has a score for a question.
    """
    for candidate in candidates:
        comparable(base, candidate, bridges, columns)
    for column in columns:
        for result in (base, *candidates):
            check_column(result, column)
    rows = [
        row
        for candidate in candidates
        for row in _rows(base, candidate, golden, columns, slices, columns if sliced is None else sliced, bridges)
    ]
    differing = [differing_questions(base, candidate) for candidate in candidates]
    added, removed, changed = (tuple(dict.fromkeys(name for each in differing for name in each[part])) for part in range(3))
    found = tabled(rows, cluster_numbers(golden.examples))
    return replace(found, added=added, removed=removed, changed=changed)


def tabled(rows: Sequence["Tested"], cluster: Ints, lower: Collection[str] = ()) -> Table:
    """The rows of a comparison tested as one family; `cluster` numbers clusters of questions, of `lower` less is better."""
    tested, figures = _tested(rows, cluster)
    comparisons = tuple(
        Comparison(
            base_name=row.base.name,
            candidate_name=row.candidate.name,
            column=row.column,
            slice=row.part.name if row.part else "",
            base_mean=float(np.nanmean(row.scores[:, 0])),
            candidate_mean=float(np.nanmean(row.scores[:, 1])),
            shrunk=believed,
            base_id=row.base.trial_id,
            candidate_id=row.candidate.trial_id,
            lower=row.column in lower,
            **{name: value for name, value in values.items() if name not in UNTOLD},
        )
        for row, values, believed in zip(rows, figures, _shrunk(rows, figures), strict=True)
    )
    return Table(comparisons, tested)


@dataclass(frozen=True)
class Tested:
    """One comparison: scores of base and candidate per question, shape (questions, 2), NaN where they are not compared."""

    base: Result
    candidate: Result
    column: str
    part: Slice | None
    scores: Floats

    @property
    def differences(self) -> Floats:
        """Candidate - base."""
        apart = self.scores[:, 1] - self.scores[:, 0]
        return np.where(np.abs(apart) < TINY, 0.0, apart)


def _rows(
    base: Result,
    candidate: Result,
    golden: Golden,
    columns: Sequence[str],
    slices: Sequence[Slice],
    sliced: Collection[str],
    bridges: Collection[str],
) -> Iterator[Tested]:
    """All questions in every column, then every slice that a column applies to."""
    rows = matched(base, candidate, golden)
    whole: dict[str, Floats] = {}
    for column in columns:
        scores = np.full((len(golden.examples), 2), np.nan)
        scores[rows[0]] = np.stack([base.scores.column(column)[rows[1]], candidate.scores.column(column)[rows[2]]], axis=1)
        half: Flags = np.isnan(scores[:, 0]) != np.isnan(scores[:, 1])
        if half.any() and "@" in column and not {"metrics", "judge"} & set(bridges):
            raise one_sided(base, candidate, column, golden, half)
        scores[half] = np.nan
        whole[column] = scores
        yield Tested(base, candidate, column, None, scores)
    for column in sliced:
        for part in slices:
            scores = np.where(part.members[:, None], whole[column], np.nan)
            if not np.isnan(scores).all():
                yield Tested(base, candidate, column, part, scores)


def _tested(rows: Sequence[Tested], cluster: Ints) -> tuple[int, list[dict[str, Any]]]:
    """How many rows were tested, and the figures of each: a row of one cluster is not tested."""
    differences = np.column_stack([row.differences for row in rows])
    spans = np.array([span_of(row.column, row.scores) for row in rows])
    testable = np.array([len(np.unique(cluster[~np.isnan(column)])) > 1 for column in differences.T])
    figures: list[dict[str, Any]] = [{} for _ in rows]
    for tested in set(testable.tolist()):
        places = np.flatnonzero(testable == tested)
        results = family(differences[:, places], cluster, spans[places])
        for number, place in enumerate(places.tolist()):
            figures[place] = _figures(results, number, tested)
    return int(testable.sum()), figures


def _figures(results: Family, number: int, tested: bool) -> dict[str, Any]:
    """The fields of a Comparison from one column of a family, and the standard `error`."""
    values = {field.name: getattr(results, field.name)[number].item() for field in fields(results)}
    values["difference"] = values.pop("mean")
    untested = {} if tested else dict.fromkeys(("p", "p_adjusted", "needed"), math.nan)
    return values | untested | {"detectable": values["detectable"] or math.nan}


def _shrunk(rows: Sequence[Tested], figures: Sequence[dict[str, Any]]) -> list[float]:
    """The difference of every row; that of a slice shrunk towards all questions, with the other slices of its dimension."""
    believed = [values["difference"] for values in figures]
    groups: dict[tuple[int, str, str], list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault((id(row.candidate), row.column, row.part.dimension if row.part else ""), []).append(place)
    for (candidate, column, dimension), places in groups.items():
        if dimension:
            overall = believed[groups[candidate, column, ""][0]]
            means, errors, n = (np.array([figures[place][name] for place in places]) for name in ("difference", "error", "n"))
            for place, value in zip(places, shrunk(means, errors, n.astype(np.int64), overall), strict=True):
                believed[place] = float(value)
    return believed
