"""What approximate search loses: rankings of vector indexes beside exact ones over the same stored vectors.

Kept apart: what an index misses of its exact neighbours is lost to approximation, what the exact neighbours miss of the gold to
the embedder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import DataError
from rag.core.rankings import NOTHING, Rankings
from rag.core.records import Vectors
from rag.core.roles import RankingMetric
from rag.evaluation.scoring import Gold, judge, parse_column, score
from rag.evaluation.statistics.paired import Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_graph import Stage
from rag.execution.graph.stage_inputs import rankings_of
from rag.execution.store.store import Entry, Store

Floats = NDArray[np.float64]

AT = 10
BLOCK = 1 << 23
"""How many exact scores are held in memory at once."""


@dataclass(frozen=True)
class Loss:
    """A mean over questions with exact and with approximate search, and what is lost: exact - approximate.

    [low, high] holds together with those of all indexes and measures of the audit in 95 % of tries
    (`rag.evaluation.statistics.paired.family`).
    """

    exact: float
    approximate: float
    lost: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Audit:
    """One vector index against exact search over its vectors.

    `overlap_at_k` and `overlap_at_10` are the shares of the exact first k and 10 neighbours that it found among its own first
    k and 10, averaged over questions. `recall` is that of gold groups anywhere in the `depth` hits, `metric` the score of the
    index's own ranking in `column`, empty for a trial that measures no rankings. `embedder_lost` is the share of gold that
    even exact search does not find within the depth.
    """

    index: str
    kind: str
    chunks: int
    depth: int
    k: int
    overlap_at_k: float
    overlap_at_10: float
    recall: Loss
    embedder_lost: float
    column: str
    metric: Loss

    @property
    def exact(self) -> bool:
        """Whether every question's first neighbours are the exact ones."""
        return self.overlap_at_k == 1 and self.overlap_at_10 == 1 and self.recall.lost == 0

    def to_json(self) -> dict[str, Any]:
        """Plain values, None for NaN."""
        return _plain(asdict(self))


@dataclass(frozen=True)
class _Searched:
    """What a vector index found, and what it would have found by looking everywhere."""

    name: str
    stage: Stage
    found: Rankings
    exact: Rankings
    chunks: int


def audit_indexes(trial: PlannedTrial, made: Plan, store: Store, column: str) -> tuple[Audit, ...]:
    """Audit every vector index of a trial that ran, in the order of its config; nothing where it has none.

    `column` is a ranking metric with its cut; for one that measures answers or time the first column of the trial that
    measures rankings stands in. DataError for a stage whose result is no longer in the store.
    """
    searched = [_searched(name, stage, made, store) for name, stage in _searches(trial, made).items()]
    if not searched:
        return ()
    config = trial.trial.config
    column = _ranking_column(column, trial, made)
    gold = Gold.from_arrays(_read(made.stages[made.stages[trial.ends.judge].inputs["gold"]], store).arrays)
    scores = [
        (_measured(each.exact, gold, column, trial, made), _measured(each.found, gold, column, trial, made))
        for each in searched
    ]
    return tuple(_audits(searched, scores, column, int(config["k"]), trial))


def exact(queries: Vectors, vectors: Vectors, depth: int) -> Rankings:
    """The nearest `depth` rows of `vectors` for each query, by inner products in float64: nothing is left out."""
    rows = max(1, BLOCK // max(1, len(vectors)))
    parts = [Rankings.top(_products(queries[at : at + rows], vectors), depth) for at in range(0, len(queries), rows)]
    width = min(depth, len(vectors))
    positions = [np.zeros((0, width), np.int32), *(part.positions for part in parts)]
    return Rankings(np.concatenate(positions), np.concatenate([np.zeros((0, width)), *(part.scores for part in parts)]))


def _products(queries: Vectors, vectors: Vectors) -> Floats:
    step = max(1, BLOCK // max(1, vectors.shape[1]))
    wide = queries.astype(np.float64)
    parts = [wide @ vectors[at : at + step].astype(np.float64).T for at in range(0, len(vectors), step)]
    return np.concatenate([np.zeros((len(queries), 0)), *parts], axis=1)


def overlap(found: Rankings, wanted: Rankings, k: int) -> float:
    """The mean share of the first k of `wanted` that stand among the first k of `found`; NaN where none is wanted."""
    first, other = wanted.positions[:, :k], found.positions[:, :k]
    real = first != NOTHING
    held = (first[:, :, None] == other[:, None, :]).any(axis=2) & real
    asked = real.any(axis=1)
    return float((held.sum(axis=1)[asked] / real.sum(axis=1)[asked]).mean()) if asked.any() else float("nan")


def _searches(trial: PlannedTrial, made: Plan) -> dict[str, Stage]:
    """The searches of a trial that read vectors, by the name of their index."""
    stages = (made.stages[key] for key in made.graph.ancestors(trial.ends.ranking))
    by_index = {stage.inputs["index"]: stage for stage in stages if stage.name == "search" and "vectors" in stage.inputs}
    return {name: by_index[key] for name, key in trial.ends.indexes.items() if key in by_index}


def _searched(name: str, stage: Stage, made: Plan, store: Store) -> _Searched:
    passages = made.stages[made.stages[stage.inputs["index"]].inputs["vectors"]]
    vectors = _read(passages, store).arrays["vectors"]
    queries = _read(made.stages[stage.inputs["vectors"]], store).arrays["vectors"]
    depth = int(stage.values["depth"])
    return _Searched(name, stage, rankings_of(_read(stage, store)), exact(queries, vectors, depth), len(vectors))


def _read(stage: Stage, store: Store) -> Entry:
    entry = store.read(stage.entry)
    if entry is None:
        raise DataError(f"stage {stage.label}", "is not in the store", "run the sweep again: what is there is reused")
    return entry


def _ranking_column(column: str, trial: PlannedTrial, made: Plan) -> str:
    config = trial.trial.config
    for name in (column, *config["metrics"]):
        metric = name.partition("@")[0]
        node = config["metric"].get(metric)
        if node and "@" in name and isinstance(made.graph.components.build(node, f"metric.{metric}"), RankingMetric):
            return str(name)
    return ""


def _measured(rankings: Rankings, gold: Gold, column: str, trial: PlannedTrial, made: Plan) -> Floats:
    """Per question the share of gold groups that were found at all, and the score in a column: shape (questions, 2)."""
    judged = judge(rankings, gold)
    groups = (judged.group_ranks >= 0).sum(axis=1)
    recall = np.where(groups > 0, (judged.group_ranks > 0).sum(axis=1) / np.maximum(groups, 1), np.nan)
    values = np.full(len(recall), np.nan)
    if column:
        config = trial.trial.config
        name = parse_column(column, config["k"], config["metric"]).metric
        metrics = {name: made.graph.components.build(config["metric"][name], f"metric.{name}")}
        values = score(judged, None, trial.golden.examples, metrics, [column], config["k"]).column(column)
    return np.stack([recall, values], axis=1)


def _audits(
    searched: Sequence[_Searched], scores: Sequence[tuple[Floats, Floats]], column: str, k: int, trial: PlannedTrial
) -> list[Audit]:
    told = family(np.concatenate([full - found for full, found in scores], axis=1), cluster_numbers(trial.golden.examples))
    audits = []
    for number, (each, (full, found)) in enumerate(zip(searched, scores, strict=True)):
        recall, metric = (_loss(full[:, part], found[:, part], told, 2 * number + part) for part in (0, 1))
        kind = str(each.stage.nodes["index"]["_target_"]).rsplit(".", 1)[-1]
        shares = (overlap(each.found, each.exact, k), overlap(each.found, each.exact, AT))
        size = (each.chunks, int(each.stage.values["depth"]), k)
        audits.append(Audit(each.name, kind, *size, *shares, recall, 1 - recall.exact, column, metric))
    return audits


def _loss(full: Floats, found: Floats, told: Family, place: int) -> Loss:
    lost, low, high = (float(values[place]) for values in (told.mean, told.corrected_low, told.corrected_high))
    return Loss(_mean(full), _mean(found), lost, low, high, int(told.n[place]))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _plain(value) if isinstance(value, Mapping) else None if value != value else value for key, value in values.items()
    }
