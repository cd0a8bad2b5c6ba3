"""How much better the same trial would be if one of its parts were perfect, by its own metrics on its own questions.

- *perfect order*: the candidates of its indexes, ordered by `rag.analysis.headroom.order.perfect_order` instead of fusion,
  reranker and selector. If the trial's own order is better, which a selector that widens can cause, its own score counts: the
  headroom of a question is never negative, and at most that of the best order of these candidates. For ranking columns.
- *perfect chunker*: the same config with `control=perfect_chunker`, whose chunks cut no gold. It runs on this store and reuses
  stored stages, so a second call costs nothing. Larger chunks are also searched differently, so it can be negative. Left out
  for answer columns if it would need new replies that cost money.
- *perfect reader*: questions whose contexts satisfy all of their evidence get the reference answer with the best score, the
  others keep their replies. For answer columns of a trial that generates.

Differences are paired by question, with the intervals of `rag.evaluation.statistics.paired.family`, which resamples clusters.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag.analysis.blame.corridor import Steps
from rag.analysis.blame.reader import Reader
from rag.analysis.headroom.order import perfect_order, pool
from rag.config.search_space import Trial
from rag.config.validation import control_of
from rag.core.arrays import Floats
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, closest
from rag.core.figures import figure
from rag.core.numbers import jsonable
from rag.core.roles import AnswerMetric, RankingMetric
from rag.core.types import Answer, Reply
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

ORDER, CHUNKER, READER = "perfect order", "perfect chunker", "perfect reader"
CALLED = {ORDER: "order of candidates", CHUNKER: "chunker", READER: "reader"}
SILENT = {"_target_": "rag.components.generators.none.NoGenerator"}


@dataclass(frozen=True)
class Headroom:
    """The gain of a perfect part in the mean of a column; [low, high] is its 95 % interval, NaN if it has none."""

    part: str
    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """The gain as JSON values, None for NaN."""
        return dict(jsonable(asdict(self)))


def measure_headroom(trial: PlannedTrial, made: Plan, store: Store, column: str) -> tuple[Headroom, ...]:
    """The gain of each perfect part in one column of a trial that ran; parts that cannot affect the column are left out.

    Raises ConfigError for a column that the trial did not measure, DataError for a trial without scores.
    """
    parts = differences(trial, made, store, column)
    if not parts:
        return ()
    tested = family(np.stack(list(parts.values()), axis=1), cluster_numbers(trial.golden.examples))
    rows = zip(parts, tested.mean.tolist(), tested.low.tolist(), tested.high.tolist(), strict=True)
    return tuple(Headroom(*row) for row in rows)


def differences(trial: PlannedTrial, made: Plan, store: Store, column: str) -> dict[str, Floats]:
    """The gain of each perfect part in a column, by part and question; NaN where the column does not apply."""
    scores = trial_scores.read_scores(trial, made, store).scores
    check_choice("column", column, scores.columns)
    name = parse_column(column, trial.trial.config["k"]).metric
    metric: Metric = made.graph.components.build(trial.trial.config["metric"][name], f"metric.{name}")
    reader, own = Reader(made, store), scores.column(column)
    steps = Steps.of(trial, made.stages)
    if steps is None:
        return {}
    scored: dict[str, Floats | None] = {CHUNKER: _with_chunker(trial, reader, own, column, metric)}
    if isinstance(metric, RankingMetric):
        scored[ORDER] = np.fmax(_with_order(trial, steps, reader, column, metric), own)
    elif isinstance(metric, AnswerMetric):
        scored[READER] = _with_reader(trial, reader, own, metric)
    return {part: values - own for part in CALLED if (values := scored.get(part)) is not None}


def _with_order(trial: PlannedTrial, steps: Steps, reader: Reader, column: str, metric: Metric) -> Floats:
    candidates = pool([reader.rankings(key) for key in (steps.fused, *steps.indexes.values())])
    gold, examples = reader.gold(trial), trial.golden.examples
    best, k = perfect_order(candidates, reader.corpus(trial), examples, gold), trial.trial.config["k"]
    cut = scoring.budgets(best, reader.corpus(trial), examples, trial.trial.config["coverage"])
    metrics = {parse_column(column, k).metric: metric}
    return scoring.score(scoring.judge(best, gold), None, examples, metrics, [column], k, budgets=cut).column(column)


def _with_chunker(trial: PlannedTrial, reader: Reader, own: Floats, column: str, metric: Metric) -> Floats | None:
    """Scores with perfect chunks; None if the trial has a control, or if new replies would cost money."""
    config, corpus = trial.trial.config, reader.corpus(trial)
    if control_of(config) != "none":
        return None
    if len(uncut(corpus, trial.golden.examples)) == len(corpus):
        return own  # uncutting merges chunks; here none was merged, so all scores stay the same
    varied = {**config, "control": "perfect_chunker", "metrics": [column], "latency": 0}
    if isinstance(metric, RankingMetric):
        varied["generator"] = SILENT
    made, store = reader.made, reader.store
    ahead = plan.assemble(made.experiment, [Trial(trial.trial.name, trial.trial.choices, varied)], store, read=made.corpora)
    ends, components = ahead.trials[0].ends, made.graph.components
    paid = {"generator": (ends.generate, ends.check), "judge": (ends.assess,)}
    for role, keys in paid.items():
        if set(keys) & set(ahead.to_run) and getattr(components.role(role, config[role]), "costly", False):
            return None
    entry = Runner(ahead.graph, ahead.goldens, store).obtain(ahead.trials[0].ends.score)
    return Scores.from_arrays(entry.arrays).column(column)


def _with_reader(trial: PlannedTrial, reader: Reader, own: Floats, metric: AnswerMetric) -> Floats | None:
    """Scores with the reference answer for every question whose evidence was read; None if nothing is generated."""
    read = reader.read(trial)
    if read is None:
        return None
    is_group = reader.group_ranks(trial, trial.ends.ranking, 0) >= 0
    all_there = np.all(read | ~is_group, axis=1).tolist()
    best = own.copy()
    for row, example in enumerate(trial.golden.examples):
        if all_there[row] and example.ranked and example.answers:
            perfect = (Answer(example.query, (), Reply(answer)) for answer in example.answers)
            best[row] = max(own[row], *(metric.measure(example, answer) for answer in perfect))
    return best


def sentence(parts: Sequence[Headroom]) -> str:
    """The headroom in words, the largest first: `Your order of candidates leaves .09 on the table, …`.

    Empty without parts. A part whose interval contains 0, or that has none, leaves "nothing that shows".
    """
    if not parts:
        return ""
    ordered = sorted(parts, key=lambda part: -part.mean)
    first, *others = ((CALLED[part.part], _amount(part)) for part in ordered)
    return f"Your {first[0]} leaves {first[1]} on the table{''.join(f', your {name} {amount}' for name, amount in others)}."


def _amount(part: Headroom) -> str:
    return figure(part.mean, 2) if part.low > 0 and part.mean >= 0.005 else "nothing that shows"
