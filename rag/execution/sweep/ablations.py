"""The answers of the recommended trial: metrics that only it is measured by, and its ablations.

Its controls are the same trial without contexts, with the contexts of other questions, and with the gold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from rag.config.search_space import Trial
from rag.config.validation import OF_READING, control_of, has_system
from rag.core.errors import ConfigError, DataError, StoreError
from rag.core.numbers import jsonable
from rag.core.types import Example
from rag.evaluation.scoring import Scores, check_column, parse_column, summarise
from rag.evaluation.statistics.paired import Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph import plan
from rag.execution.graph.engine import Outcome, cause_of
from rag.execution.graph.executors import Ran, Watch, run_watched
from rag.execution.graph.open_pipeline import TrialParts
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.graph.trial_graph import needed
from rag.execution.judges import judge_report
from rag.execution.judges.judge_report import Assessor
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores

RETRIEVED = "retrieved"
"""The name of the trial itself among its controls."""


@dataclass(frozen=True)
class ControlResult:
    """One answer metric of a trial under one control: its mean, and the difference from the trial.

    [mean_low, mean_high] is the 95 % interval of the mean. `difference` is control - trial over the `n` questions with a value
    in both; its interval [low, high] and `p_adjusted` are corrected for all controls and columns
    (`rag.evaluation.statistics.paired.family`). The trial itself, `name` RETRIEVED, has no difference: there `n` counts the
    questions with a value. NaN stands for a figure that cannot be known; `error` says why a control has no figures.
    """

    name: str
    column: str
    mean: float
    difference: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p_adjusted: float = float("nan")
    n: int = 0
    error: str = ""
    mean_low: float = float("nan")
    mean_high: float = float("nan")

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values, None for NaN."""
        return dict(jsonable(asdict(self)))


@dataclass(frozen=True)
class Controlled:
    """The answers of the trial `trial_id` and of its controls, or the reason why measuring them ended early.

    `judges` judged these answers. `plan` has the trial, with all metrics of its answers, and then its controls.
    """

    results: tuple[ControlResult, ...] = ()
    interrupted: bool = False
    stopped: StoreError | None = None
    trial_id: str = ""
    judges: tuple[Assessor, ...] = ()
    plan: Plan | None = field(default=None, compare=False)

    @property
    def failed(self) -> bool:
        """Whether a control could not be measured."""
        return any(result.error for result in self.results)

    @property
    def exhausted(self) -> bool:
        """Whether the budget was spent before all controls were measured."""
        return any(result.error.startswith("budget") for result in self.results)


def check(made: Plan) -> None:
    """Raise ConfigError for `answers` of an experiment that are not metrics of answers, before anything runs."""
    for config in (trial.trial.config for trial in made.trials if trial.ends.generate and made.experiment.answers):
        parts = TrialParts({**config, "metrics": made.experiment.answers}, made.graph.components)
        for column in parts.columns:
            check_column(column, parts.metrics[column.metric])
            if column.unit:
                what = f"{column.name!r} measures rankings, which all trials are measured by"
                raise ConfigError(f"{made.experiment.name}: answers", what, "put it into metrics=[…]")
        if needed(parts):
            parts.role("judge")


def measure_ablations(
    trial: PlannedTrial, made: Plan, store: Store, settings: Mapping[str, Any], watch: Watch | None
) -> Controlled:
    """Measure the answers of a trial that ran, and of its controls, on its own questions; compare the controls with the trial.

    In each column the trial comes first, then its controls. Empty for a trial that generates no answer, measures none or is a
    control itself, and without `watch` where a stage is still to run: then nothing runs. A control that failed has an `error`
    and no figures. DataError where the trial has no scores.
    """
    ahead = planned(trial, made, store)
    if ahead is None or (ahead.to_run and watch is None):
        return Controlled()
    trial_scores.read_scores(trial, made, store)
    ran = run_watched(ahead, store, settings, watch) if watch else Ran({})
    if ran.interrupted or ran.stopped:
        return Controlled(interrupted=ran.interrupted, stopped=ran.stopped)
    scores = {control_of(each.trial.config): _scores(each, ahead, store, ran.outcomes) for each in ahead.trials}
    compared = _compared(scores, answer_columns(ahead.trials[0].trial.config), trial.golden.examples)
    judges = (*judge_report.assessors(ahead, store), *judge_report.asking(ahead, store))
    return Controlled(compared, trial_id=trial.trial_id, judges=judges, plan=ahead)


def planned(trial: PlannedTrial, made: Plan, store: Store) -> Plan | None:
    """The plan of a trial, with all metrics of its answers that the experiment asks for, and of its controls.

    None for a trial that generates no answer, measures none or is a control itself, and where the experiment asks for neither.
    """
    experiment, config = made.experiment, trial.trial.config
    config = {**config, "metrics": list(dict.fromkeys([*config["metrics"], *experiment.answers]))}
    wanted = experiment.controls or experiment.answers
    if not wanted or not trial.ends.generate or control_of(config) != "none" or not answer_columns(config):
        return None
    several, ours = len(trial.golden.examples) > 1, not has_system(made.graph.components, config)
    names = [name for name in OF_READING if experiment.controls and ours and (several or name != "shuffled_contexts")]
    varied = [Trial(f"{trial.trial.name} {name}", trial.trial.choices, {**config, "control": name}) for name in names]
    return plan.assemble(experiment, [replace(trial.trial, config=config), *varied], store, made.ledger, made.corpora)


def answer_columns(config: Mapping[str, Any]) -> list[str]:
    """The columns of a config that measure answers: those without a cut."""
    parsed = {column: parse_column(column, config["k"], config["metric"]) for column in config["metrics"]}
    return [name for name, column in parsed.items() if not column.unit]


def _scores(trial: PlannedTrial, made: Plan, store: Store, outcomes: Mapping[str, Outcome]) -> Scores | str:
    """The scores of a trial, or the message of its error."""
    for key in made.graph.ancestors(*ends_of(trial)):
        if key in outcomes and outcomes[key].status in ("failed", "stopped"):
            return cause_of(outcomes[key].error)
    try:
        return trial_scores.read_scores(trial, made, store).scores
    except DataError as error:
        return str(error)


def _compared(
    scores_of: Mapping[str, Scores | str], columns: Sequence[str], examples: Sequence[Example]
) -> tuple[ControlResult, ...]:
    """Rows by column; `scores_of` has the trial itself under the control `none`, then its controls."""
    tables = {name: scores for name, scores in scores_of.items() if isinstance(scores, Scores)}
    pairs = [(column, name) for column in columns for name in tables if "none" in tables and name != "none"]
    differences = {pair: tables[pair[1]].column(pair[0]) - tables["none"].column(pair[0]) for pair in pairs}
    compared = {pair: values for pair, values in differences.items() if not np.isnan(values).all()}
    tested = family(np.stack([*compared.values()], axis=1), cluster_numbers(examples)) if compared else None
    apart = {pair: _difference(tested, place) for place, pair in enumerate(compared)} if tested else {}
    means = {name: summarise(scores, examples) for name, scores in tables.items()}
    rows: list[ControlResult] = []
    for column, (name, scores) in product(columns, scores_of.items()):
        label = RETRIEVED if name == "none" else name
        if isinstance(scores, str):
            rows.append(ControlResult(label, column, float("nan"), error=scores))
            continue
        place = means[name].columns.index(column)
        mean, low, high = (float(part[place]) for part in (means[name].mean, means[name].low, means[name].high))
        figures = {"n": int(means[name].n[place])} if name == "none" else apart.get((column, name), {})
        rows.append(ControlResult(label, column, mean, **figures, mean_low=low, mean_high=high))
    return tuple(rows)


def _difference(tested: Family, place: int) -> dict[str, Any]:
    ends = {"low": tested.corrected_low, "high": tested.corrected_high}
    figures = {"difference": tested.mean, **ends, "p_adjusted": tested.p_adjusted}
    return {name: float(figure[place]) for name, figure in figures.items()} | {"n": int(tested.n[place])}
