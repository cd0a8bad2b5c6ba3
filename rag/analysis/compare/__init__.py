"""Results → paired differences that know how many were looked at. Pure."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.analysis.compare.comparability import BRIDGES, check_column, common_columns, comparable, half_told, matched, questions
from rag.analysis.compare.table import Comparison, Table
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.slices import Slice, shrunk
from rag.evaluation.statistics.paired import Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.trial_scores import Result

__all__ = ["BRIDGES", "Comparison", "Table", "common_columns", "comparable", "compare"]

Floats = NDArray[np.float64]

TINY = 1e-6
"""Scores closer than this are the same: a baseline keeps six digits of them."""


def compare(
    base: Result,
    candidates: Sequence[Result],
    golden: Golden,
    columns: Sequence[str],
    slices: Sequence[Slice],
    bridges: Collection[str] = (),
    sliced: Collection[str] | None = None,
) -> Table:
    """Compare every candidate with the base in every column, on all questions and on every slice of them, as one family.

    Questions are matched by what they say, not by their id alone. `golden` holds every question that base and candidates have
    in common, with its cluster, and `slices` are its slices; `sliced` are the columns that are looked at by slice, all unless
    told. Raises ConfigError for results that do not measure the same thing (see `comparable`) and for a column that one of them
    lacks, DataError where no question is left and where one of the two has no score for a question.
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
    told = [questions(base, candidate) for candidate in candidates]
    added, removed, changed = (tuple(dict.fromkeys(name for each in told for name in each[part])) for part in range(3))
    size, found = _tested(rows, cluster_numbers(golden.examples))
    return Table(tuple(_comparisons(rows, found)), size, added, removed, changed)


@dataclass(frozen=True)
class _Row:
    """One difference to look at: scores of base and candidate per question of the golden set, NaN where it is not compared."""

    base: Result
    candidate: Result
    column: str
    part: Slice | None
    scores: Floats

    @property
    def differences(self) -> Floats:
        """What the candidate has more than the base."""
        found = self.scores[:, 1] - self.scores[:, 0]
        return np.where(np.abs(found) < TINY, 0.0, found)


def _rows(
    base: Result,
    candidate: Result,
    golden: Golden,
    columns: Sequence[str],
    slices: Sequence[Slice],
    sliced: Collection[str],
    bridges: Collection[str],
) -> Iterator[_Row]:
    """All questions in every column, then every slice that a column applies to."""
    rows = matched(base, candidate, golden)
    found: dict[str, Floats] = {}
    for column in columns:
        scores = np.full((len(golden.examples), 2), np.nan)
        scores[rows[0]] = np.stack([base.scores.column(column)[rows[1]], candidate.scores.column(column)[rows[2]]], axis=1)
        half = np.isnan(scores[:, 0]) != np.isnan(scores[:, 1])
        if half.any() and "@" in column and not {"metrics", "judge"} & set(bridges):
            raise half_told(base, candidate, column, golden, half)
        scores[half] = np.nan
        found[column] = scores
        yield _Row(base, candidate, column, None, scores)
    for column in sliced:
        for part in slices:
            scores = np.where(part.members[:, None], found[column], np.nan)
            if not np.isnan(scores).all():
                yield _Row(base, candidate, column, part, scores)


@dataclass(frozen=True)
class _Found:
    """What was found in one row: a column of a family; without a test where there is only one cluster."""

    family: Family
    place: int
    tested: bool

    def __getitem__(self, name: str) -> float:
        """One figure of it."""
        return float(getattr(self.family, name)[self.place])


def _tested(rows: Sequence[_Row], cluster: NDArray[np.int64]) -> tuple[int, list[_Found]]:
    """How many rows could be tested, and what was found in each: one cluster cannot tell a difference from chance."""
    differences = np.column_stack([row.differences for row in rows])
    testable = np.array([len(np.unique(cluster[~np.isnan(column)])) > 1 for column in differences.T])
    size = int(testable.sum())
    families = {bool(kind): family(differences[:, testable == kind], cluster) for kind in set(testable)}
    places = np.where(testable, np.cumsum(testable), np.cumsum(~testable)) - 1
    return size, [
        _Found(families[bool(tested)], int(place), bool(tested)) for tested, place in zip(testable, places, strict=True)
    ]


def _comparisons(rows: Sequence[_Row], found: Sequence[_Found]) -> Iterator[Comparison]:
    believed = _shrunk(rows, found)
    for row, seen, draw in zip(rows, found, believed, strict=True):
        means = np.nanmean(row.scores, axis=0)
        yield Comparison(
            base_name=row.base.name,
            candidate_name=row.candidate.name,
            column=row.column,
            slice=row.part.name if row.part else "",
            n=int(seen["n"]),
            clusters=int(seen["clusters"]),
            base_mean=float(means[0]),
            candidate_mean=float(means[1]),
            difference=seen["mean"],
            low=seen["low"],
            high=seen["high"],
            corrected_low=seen["corrected_low"],
            corrected_high=seen["corrected_high"],
            p=seen["p"] if seen.tested else math.nan,
            p_adjusted=seen["p_adjusted"] if seen.tested else math.nan,
            effect=seen["effect"],
            wins=int(seen["wins"]),
            ties=int(seen["ties"]),
            losses=int(seen["losses"]),
            detectable=seen["detectable"] or math.nan,
            needed=seen["needed"] if seen.tested else math.nan,
            shrunk=draw,
            base_id=row.base.trial_id,
            candidate_id=row.candidate.trial_id,
        )


def _shrunk(rows: Sequence[_Row], found: Sequence[_Found]) -> list[float]:
    """What can be believed of every row: a slice is drawn towards all questions, beside the others of its dimension."""
    believed = [seen["mean"] for seen in found]
    groups: dict[tuple[int, str, str], list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault((id(row.candidate), row.column, row.part.dimension if row.part else ""), []).append(place)
    for (candidate, column, dimension), places in groups.items():
        if dimension:
            overall = believed[groups[candidate, column, ""][0]]
            means, errors = (np.array([found[place][name] for place in places]) for name in ("mean", "error"))
            n = np.array([int(found[place]["n"]) for place in places], np.int64)
            for place, value in zip(places, shrunk(means, errors, n, overall), strict=True):
                believed[place] = float(value)
    return believed
