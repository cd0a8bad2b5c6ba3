"""Scores per question → means with cluster-robust intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.arrays import Floats, Ints
from rag.core.numbers import jsonable
from rag.core.types import Example
from rag.evaluation.scores import Scores
from rag.evaluation.statistics import student
from rag.evaluation.statistics.resampling import by_cluster, cluster_numbers, effective, standard_error

CONFIDENCE = 0.95
TINY = 1e-12


@dataclass(frozen=True)
class Summary:
    """Means over the questions that a column applies to; every array has one entry per column.

    `n` counts these questions, `clusters` their clusters; [low, high] is the 95 % `interval` of the mean. `kind_mean` and
    `kind_n` have one row per entry of `kinds`. NaN stands for what is unknown.
    """

    columns: tuple[str, ...]
    mean: Floats
    low: Floats
    high: Floats
    n: Ints
    clusters: Ints
    questions: int
    failed: int
    kinds: tuple[str, ...]
    kind_mean: Floats
    kind_n: Ints

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values: by column, then by kind and column; None for NaN."""
        figures = {name: jsonable(getattr(self, name)) for name in ("mean", "low", "high", "n", "clusters")}
        kinds = zip(self.kinds, jsonable(self.kind_mean), jsonable(self.kind_n), strict=True)
        return {
            "questions": self.questions,
            "failed": self.failed,
            "columns": {
                column: {name: values[place] for name, values in figures.items()} for place, column in enumerate(self.columns)
            },
            "kinds": {
                kind: {column: {"mean": mean, "n": n} for column, mean, n in zip(self.columns, means, counts, strict=True)}
                for kind, means, counts in kinds
            },
        }


def summarise(scores: Scores, examples: Sequence[Example], span: tuple[float, float] = (0.0, 1.0)) -> Summary:
    """Average every column, over all questions and within each kind, with an interval for the whole.

    `span` holds the least and the greatest possible value of a question. Intervals are those of `interval`. A question without
    a cluster is its own cluster. With one cluster the interval is (NaN, NaN).
    """
    applies = ~np.isnan(scores.values)
    values = np.where(applies, scores.values, 0.0)
    n = applies.sum(axis=0)
    mean = _mean(values.sum(axis=0), n)
    cluster = cluster_numbers(examples)
    groups = int(cluster.max(initial=-1)) + 1
    counts = by_cluster(applies.astype(np.float64), cluster, groups)
    low, high = interval(mean, standard_error(by_cluster(values, cluster, groups), counts), effective(counts), span)
    kinds, kind = np.unique(np.array([example.kind for example in examples], np.str_), return_inverse=True)
    kind_n = _sums(applies.astype(np.int64), kind)
    return Summary(
        columns=scores.columns,
        mean=mean,
        low=low,
        high=high,
        n=n,
        clusters=(counts > 0).sum(axis=0),
        questions=len(values),
        failed=int(scores.failed.sum()),
        kinds=tuple(str(name) for name in kinds),
        kind_mean=_mean(_sums(values, kind), kind_n),
        kind_n=kind_n,
    )


def interval(mean: Floats, error: Floats, equal: Floats, span: tuple[float, float] = (0.0, 1.0)) -> tuple[Floats, Floats]:
    """Both ends of 95 % intervals for means of values in `span`; NaN if the error is NaN.

    Wilson's interval (JASA 22, 1927), which stays within the span, with Student's t on `equal` - 1 degrees of freedom, and as
    n the number of questions that would give the same `error` if all values lay at the ends of the span (Korn and Graubard,
    Survey Methodology 24, 1998). `equal` is a number of clusters (`rag.evaluation.statistics.resampling.effective`); it takes
    the place of n if all values are equal: a hundred hits in a hundred clusters are [.962, 1].
    """
    width = span[1] - span[0]
    share = np.clip((mean - span[0]) / width, 0.0, 1.0)
    variance, squares = share * (1 - share), (error / width) ** 2
    n = np.where(squares > 0, variance / np.where(squares > 0, squares, 1.0), np.where(np.isnan(error), np.nan, equal))
    over = student.quantile(equal - 1, (1 + CONFIDENCE) / 2) ** 2 / np.maximum(n, TINY)
    middle, half = (share + over / 2) / (1 + over), np.sqrt(over * variance + over**2 / 4) / (1 + over)
    known = over >= 0
    # Exact ends: rounding must not move 0 and 1.
    low = np.where((share == 0) & known, 0.0, np.clip(middle - half, 0.0, 1.0))
    high = np.where((share == 1) & known, 1.0, np.clip(middle + half, 0.0, 1.0))
    return span[0] + width * low, span[0] + width * high


def _sums(values: NDArray[Any], group: Ints) -> NDArray[Any]:
    """Sums of rows by group, in the order of the groups; no group may be empty."""
    if not len(values):
        return values
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(group[order[-1]] + 1))
    return np.asarray(np.add.reduceat(values[order], first, axis=0))


def _mean(total: Floats, n: Ints) -> Floats:
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
