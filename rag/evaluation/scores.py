"""The table of scores: one row per question, one column per metric."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Flags, Floats
from rag.core.types import Arrays


@dataclass(frozen=True)
class Scores:
    """One row per question, one column per metric: `values` [questions, columns], NaN where a column does not apply.

    `failed` marks questions that the trial could not answer: they score 0 in every column that applies to them.
    """

    query_ids: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats
    failed: Flags

    def column(self, name: str) -> Floats:
        """The scores of all questions in one column."""
        return self.values[:, self.columns.index(name)]

    def to_arrays(self) -> Arrays:
        """The table as named arrays, for a store."""
        names = {"query_ids": np.array(self.query_ids, dtype=np.str_), "columns": np.array(self.columns, dtype=np.str_)}
        return {**names, "values": self.values, "failed": self.failed}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Scores":
        """The table from the arrays of `to_arrays`."""
        query_ids, columns = (tuple(str(name) for name in arrays[key]) for key in ("query_ids", "columns"))
        return cls(query_ids, columns, np.asarray(arrays["values"], np.float64), np.asarray(arrays["failed"], np.bool_))


def averaged(repeats: Sequence[Scores]) -> tuple[Scores, dict[str, float]]:
    """The mean score of every question over several answers, and by column the standard deviation inside questions.

    It is that of one answer around the mean of its question, pooled over the questions with two values or more; columns of
    rankings have none. A question has failed if all of its answers have.
    """
    values = np.stack([each.values for each in repeats])
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    means = np.where(counts > 0, np.where(known, values, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
    squares = np.where(known, (values - means) ** 2, 0.0).sum(axis=(0, 1))
    free = np.maximum(counts - 1, 0).sum(axis=0)
    columns = repeats[0].columns
    spread = {name: float(np.sqrt(squares[at] / free[at])) for at, name in enumerate(columns) if free[at] and "@" not in name}
    failed = np.all([each.failed for each in repeats], axis=0)
    return Scores(repeats[0].query_ids, columns, means, failed), spread
