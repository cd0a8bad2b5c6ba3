"""How much better the same trial would be if one of its parts were perfect, by its own metrics on its own questions.

- *perfect order*: what its indexes found, laid out by `rag.analysis.headroom.order.perfect_order` instead of fusion, reranker
and
  selector. Where the trial's own order is better, as it can be where a selector widens, its own counts: the headroom of a
  question is never negative, and never more than the best order of these candidates would give. For columns of rankings.
- *perfect chunker*: the same config with `control=perfect_chunker`, whose chunks cut no gold. It is run on this store, and what
  ran before is reused: the second time costs nothing. Chunks that grow are also found differently, so it can be negative. Left
  out for answer columns where replies are paid for and are not there yet.
- *perfect reader*: questions whose contexts satisfy all of their evidence get the reference answer that scores best, the others
  keep their replies. For answer columns of a trial that generates.

Differences are paired by question; the intervals are those of `rag.evaluation.statistics.paired.family`, which resamples
clusters.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.analysis.blame import Reader, Steps
from rag.analysis.headroom.order import perfect_order, pool
from rag.config.search_space import Trial
from rag.config.validation import control_of
from rag.core.errors import ConfigError, closest
from rag.core.records import Answer, Reply
from rag.core.roles import AnswerMetric, RankingMetric
from rag.evaluation import scoring
from rag.evaluation.scoring import Metric, Scores, parse_column
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph import plan
from rag.execution.graph.ablation_inputs import uncut
from rag.execution.graph.engine import Runner
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores

__all__ = ["CHUNKER", "ORDER", "READER", "Headroom", "differences", "measure_headroom", "perfect_order", "pool", "sentence"]

Floats = NDArray[np.float64]

ORDER, CHUNKER, READER = "perfect order", "perfect chunker", "perfect reader"
CALLED = {ORDER: "order of candidates", CHUNKER: "chunker", READER: "reader"}
SILENT = {"_target_": "rag.components.generators.none.NoGenerator"}


@dataclass(frozen=True)
class Headroom:
    """What a perfect part would add to the mean of a column: [low, high] is its 95 % interval, NaN where it has none."""

    part: str
    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """Plain values, None for NaN."""
        return {key: None if value != value else value for key, value in asdict(self).items()}


def measure_headroom(trial: PlannedTrial, made: Plan, store: Store, column: str) -> tuple[Headroom, ...]:
    """What each perfect part would add to one column of a trial that ran; parts that say nothing about the column are left out.

    Raises ConfigError for a column that the trial did not measure, DataError for a trial without scores.
    """
    parts = differences(trial, made, store, column)
    if not parts:
        return ()
    found = family(np.stack(list(parts.values()), axis=1), cluster_numbers(trial.golden.examples))
    rows = zip(parts, found.mean.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return tuple(Headroom(*row) for row in rows)


def differences(trial: PlannedTrial, made: Plan, store: Store, column: str) -> dict[str, Floats]:
    """What each perfect part would add to a column, by part and question; NaN where the column does not apply."""
    scores = trial_scores.read_scores(trial, made, store).scores
    if column not in scores.columns:
        raise ConfigError("column", f"{column!r} was not measured", closest(column, scores.columns))
    name = parse_column(column, trial.trial.config["k"]).metric
    metric: Metric = made.graph.components.build(trial.trial.config["metric"][name], f"metric.{name}")
    reader, own = Reader(made, store), scores.column(column)
    steps = Steps.of(trial, made.stages)
    if steps is None:
        return {}
    found: dict[str, Floats | None] = {CHUNKER: _with_chunker(trial, reader, own, column, metric)}
    if isinstance(metric, RankingMetric):
        found[ORDER] = np.fmax(_with_order(trial, steps, reader, column, metric), own)
    elif isinstance(metric, AnswerMetric):
        found[READER] = _with_reader(trial, reader, own, metric)
    return {part: values - own for part in CALLED if (values := found.get(part)) is not None}


def _with_order(trial: PlannedTrial, steps: Steps, reader: Reader, column: str, metric: Metric) -> Floats:
    candidates = pool([reader.rankings(key) for key in (steps.fused, *steps.indexes.values())])
    gold, examples = reader.gold(trial), trial.golden.examples
    judged = scoring.judge(perfect_order(candidates, reader.corpus(trial), examples, gold), gold)
    k = trial.trial.config["k"]
    return scoring.score(judged, None, examples, {parse_column(column, k).metric: metric}, [column], k).column(column)


def _with_chunker(trial: PlannedTrial, reader: Reader, own: Floats, column: str, metric: Metric) -> Floats | None:
    """Scores with perfect chunks; None where the trial has such already, or replies would have to be paid for."""
    config, corpus = trial.trial.config, reader.corpus(trial)
    if control_of(config) != "none":
        return None
    if len(uncut(corpus, trial.golden.examples)) == len(corpus):
        return own  # Merging is all that uncutting does: the chunks are the same, and so is all that follows.
    varied = {**config, "control": "perfect_chunker", "metrics": [column], "latency": 0}
    if isinstance(metric, RankingMetric):
        varied["generator"] = SILENT
    made, store = reader.made, reader.store
    ahead = plan.assemble(made.experiment, [Trial(trial.trial.name, trial.trial.choices, varied)], store)
    ends, components = ahead.trials[0].ends, made.graph.components
    asked = {"generator": (ends.generate, ends.check), "judge": (ends.assess,)}
    for role, keys in asked.items():
        if set(keys) & set(ahead.to_run) and getattr(components.role(role, config[role]), "costly", False):
            return None
    entry = Runner(ahead.graph, ahead.goldens, store).obtain(ahead.trials[0].ends.score)
    return Scores.from_arrays(entry.arrays).column(column)


def _with_reader(trial: PlannedTrial, reader: Reader, own: Floats, metric: AnswerMetric) -> Floats | None:
    """Scores where every question whose evidence was read is answered by its reference; None where nothing is generated."""
    read = reader.read(trial)
    if read is None:
        return None
    asked = reader.look(trial, trial.ends.ranking, 0) >= 0
    all_there = np.all(read | ~asked, axis=1).tolist()
    best = own.copy()
    for row, example in enumerate(trial.golden.examples):
        if all_there[row] and example.evidence and example.answers:
            perfect = (Answer(example.query, (), Reply(answer)) for answer in example.answers)
            best[row] = max(own[row], *(metric.measure(example, answer) for answer in perfect))
    return best


def sentence(found: Sequence[Headroom]) -> str:
    """What is left where, in words: `Your order of candidates leaves .09 on the table, your chunker .02.`; empty for nothing.

    The largest stands first. A part whose interval holds 0, or has no interval, leaves "nothing that shows".
    """
    if not found:
        return ""
    ordered = sorted(found, key=lambda one: -one.mean)
    first, *others = ((CALLED[one.part], _amount(one)) for one in ordered)
    return f"Your {first[0]} leaves {first[1]} on the table{''.join(f', your {name} {amount}' for name, amount in others)}."


def _amount(one: Headroom) -> str:
    return f"{one.mean:.2f}".removeprefix("0") if one.low > 0 and one.mean >= 0.005 else "nothing that shows"
