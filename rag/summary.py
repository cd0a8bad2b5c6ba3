"""Scores of questions → means with intervals that know which questions belong together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rag.records import Example
from rag.resampling import cluster_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONFIDENCE = 0.95


class Table(Protocol):
    """What is summarised: `rag.evaluate.Scores`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def values(self) -> Floats:
        """Shape (questions, columns), NaN where a column does not apply."""
        ...

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Shape (questions,)."""
        ...


@dataclass(frozen=True)
class Summary:
    """Means over the questions that a column applies to; every array has one entry per column.

    `n` counts these questions, `clusters` the clusters that they come from; [low, high] is the 95 % interval of the mean.
    `kind_mean` and `kind_n` have one row per entry of `kinds`. NaN stands for what cannot be known.
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
        rows = zip(*(_plain(part) for part in (self.mean, self.low, self.high, self.n, self.clusters)), strict=True)
        names = ("mean", "low", "high", "n", "clusters")
        return {
            "questions": self.questions,
            "failed": self.failed,
            "columns": {column: dict(zip(names, row, strict=True)) for column, row in zip(self.columns, rows, strict=True)},
            "kinds": {kind: self._of_kind(row) for row, kind in enumerate(self.kinds)},
        }

    def _of_kind(self, row: int) -> dict[str, Any]:
        cells = zip(self.columns, _plain(self.kind_mean[row]), _plain(self.kind_n[row]), strict=True)
        return {column: {"mean": mean, "n": n} for column, mean, n in cells}


def summarise(scores: Table, examples: Sequence[Example]) -> Summary:
    """Average every column, over all questions and within each kind, with an interval for the whole.

    The interval is Student's t on G - 1 degrees of freedom around the mean, with the cluster-robust standard error CR1 of
    Liang and Zeger (1986): sqrt(G / (G - 1) · Σ_g (Σ_{i in g} (x_i - mean))²) / n over the G clusters of examples. A question
    without a cluster is one of its own; if all are, this is the textbook sd / sqrt(n). With one cluster it is (NaN, NaN).
    """
    applies = ~np.isnan(scores.values)
    values = np.where(applies, scores.values, 0.0)
    n = applies.sum(axis=0)
    mean = _mean(values.sum(axis=0), n)
    low, high, clusters = _interval(np.where(applies, values - mean, 0.0), applies, mean, n, examples)
    kinds, kind = np.unique(np.array([example.kind for example in examples], np.str_), return_inverse=True)
    kind_n = _sums(applies.astype(np.int64), kind)
    return Summary(
        columns=scores.columns,
        mean=mean,
        low=low,
        high=high,
        n=n,
        clusters=clusters,
        questions=len(values),
        failed=int(scores.failed.sum()),
        kinds=tuple(str(name) for name in kinds),
        kind_mean=_mean(_sums(values, kind), kind_n),
        kind_n=kind_n,
    )


def _interval(
    residuals: Floats, applies: NDArray[np.bool_], mean: Floats, n: Ints, examples: Sequence[Example]
) -> tuple[Floats, Floats, Ints]:
    cluster = cluster_numbers(examples)
    sums = _sums(residuals, cluster)
    clusters = (_sums(applies.astype(np.int64), cluster) > 0).sum(axis=0)
    known = clusters > 1
    freedom = np.where(known, clusters - 1, 1)
    error = np.sqrt((sums**2).sum(axis=0) * np.where(known, clusters, 1) / freedom) / np.maximum(n, 1)
    reach = np.where(known, stdtrit(freedom, (1 + CONFIDENCE) / 2) * error, np.nan)
    return mean - reach, mean + reach, clusters


def _sums(values: NDArray[Any], group: Ints) -> NDArray[Any]:
    """Sums of rows by group; every group from 0 to the greatest has rows."""
    if not len(values):
        return values
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(group[order[-1]] + 1))
    return np.asarray(np.add.reduceat(values[order], first, axis=0))


def _mean(total: Floats, n: Ints) -> Floats:
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _plain(values: NDArray[Any]) -> list[Any]:
    return [None if value != value else value for value in values.tolist()]
