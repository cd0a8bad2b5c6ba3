"""Audit approximate vector search: compare the rankings of vector indexes with exact ones over the same stored vectors.

Two losses are separated: what an index misses of the exact neighbours is lost to approximation; what the exact neighbours miss
of the gold is lost to the embedder.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag.components.indexes.vectors import FlatSearcher
from rag.core.arrays import Floats
from rag.core.errors import DataError
from rag.core.numbers import jsonable, mean
from rag.core.rankings import NOTHING, Rankings
from rag.core.roles import RankingMetric
from rag.evaluation.scoring import Gold, judge, parse_column, score
from rag.evaluation.statistics.paired import Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_graph import Stage
from rag.execution.graph.stage_inputs import rankings_of
from rag.execution.store.store import Entry, Store

AT = 10


@dataclass(frozen=True)
class Loss:
    """A mean over `n` questions with exact and with approximate search, and their difference `lost`.

    The intervals [low, high] of all indexes and measures of the audit hold together in 95 % of tries
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
    """One vector index compared with exact search over its vectors.

    `overlap_at_k` and `overlap_at_10` are the mean shares of the exact first k and 10 neighbours among the index's first k and
    10. `recall` is that of gold groups anywhere in the `depth` hits; `metric` is the score of the index's own ranking in
    `column`, which is empty if the trial measures no rankings. `embedder_lost` is the share of gold that exact search does not
    find within the depth either.
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
        """True if the first neighbours of every question are the exact ones."""
        return self.overlap_at_k == 1 and self.overlap_at_10 == 1 and self.recall.lost == 0

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON values, None for NaN."""
        return dict(jsonable(asdict(self)))


def audit_indexes(trial: PlannedTrial, made: Plan, store: Store, column: str) -> tuple[Audit, ...]:
    """Audit every vector index of a trial that ran, in the order of its config; empty if it has none.

    `column` is a ranking metric with its cut; if it measures answers or time, the first ranking column of the trial replaces
    it. DataError for a stage whose result is no longer in the store.
    """
    searches = _searches(trial, made)
    if not searches:
        return ()
    column = _ranking_column(column, trial, made)
    gold = Gold.from_arrays(_read(made.stages[made.stages[trial.ends.judge].inputs["gold"]], store).arrays)
    rankings, scores, sizes = [], [], []
    for stage in searches.values():
        passages = made.stages[made.stages[stage.inputs["index"]].inputs["vectors"]]
        vectors, queries = (_read(each, store).arrays["vectors"] for each in (passages, made.stages[stage.inputs["vectors"]]))
        exact = FlatSearcher(vectors).search((), queries, int(stage.values["depth"]))
        pair = exact, rankings_of(_read(stage, store))
        rankings.append(pair)
        scores.append([_measured(ranking, gold, column, trial, made) for ranking in pair])
        sizes.append(len(vectors))
    tested = family(np.concatenate([full - found for full, found in scores], axis=1), cluster_numbers(trial.golden.examples))
    k, audits = int(trial.trial.config["k"]), []
    for number, (name, stage) in enumerate(searches.items()):
        (wanted, found), (full, reached) = rankings[number], scores[number]
        recall, metric = (_loss(full[:, place], reached[:, place], tested, 2 * number + place) for place in (0, 1))
        kind = str(stage.nodes["index"]["_target_"]).rsplit(".", 1)[-1]
        size = (sizes[number], int(stage.values["depth"]), k)
        shares = (overlap(found, wanted, k), overlap(found, wanted, AT))
        audits.append(Audit(name, kind, *size, *shares, recall, 1 - recall.exact, column, metric))
    return tuple(audits)


def overlap(found: Rankings, wanted: Rankings, k: int) -> float:
    """The mean share of the first k hits of `wanted` among the first k of `found`; NaN if `wanted` is empty."""
    first, other = wanted.positions[:, :k], found.positions[:, :k]
    real = first != NOTHING
    common = (first[:, :, None] == other[:, None, :]).any(axis=2) & real
    asked = real.any(axis=1)
    return mean(common.sum(axis=1)[asked] / real.sum(axis=1)[asked])


def _searches(trial: PlannedTrial, made: Plan) -> dict[str, Stage]:
    """The search stages of a trial that read vectors, by the name of their index."""
    stages = (made.stages[key] for key in made.graph.ancestors(trial.ends.ranking))
    by_index = {stage.inputs["index"]: stage for stage in stages if stage.name == "search" and "vectors" in stage.inputs}
    return {name: by_index[key] for name, key in trial.ends.indexes.items() if key in by_index}


def _read(stage: Stage, store: Store) -> Entry:
    entry = store.read(stage.entry)
    if entry is None:
        raise DataError(f"stage {stage.label}", "is not in the store", "run the sweep again: stored stages are reused")
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
    """Per question the share of gold groups found at any rank, and the score in a column: shape (questions, 2)."""
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


def _loss(full: Floats, found: Floats, tested: Family, column: int) -> Loss:
    lost, low, high, _ = tested.corrected(column)
    return Loss(mean(full), mean(found), lost, low, high, int(tested.n[column]))
