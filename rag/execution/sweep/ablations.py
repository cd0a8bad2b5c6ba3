"""The recommended trial's answers: metrics of them that no other trial is measured by, and what they owe to the contexts.

Its controls are the same trial without contexts, with those of other questions, and with the gold.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from rag.config.search_space import Trial
from rag.config.validation import OF_READING, control_of
from rag.core.errors import ConfigError, DataError, StoreError
from rag.core.records import Example
from rag.evaluation.scoring import Scores, check_column, parse_column, summarise
from rag.evaluation.statistics.paired import Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph import plan
from rag.execution.graph.engine import Outcome
from rag.execution.graph.executors import Listener, executor_of
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.graph.trial_graph import needed
from rag.execution.judges import judge_report
from rag.execution.judges.judge_report import Assessor
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores

Watch = Callable[[Plan], AbstractContextManager[Listener]]
"""What shows the progress of a plan."""

RETRIEVED = "retrieved"
"""The trial itself, with the contexts that it found."""


@dataclass(frozen=True)
class ControlResult:
    """One answer metric of a trial under one control: its mean, and how far that is from the trial's own.

    [mean_low, mean_high] is the 95 % interval of the mean by itself. `difference` is control - trial over the `n` questions
    that both have a value for; [low, high] holds together with those of all other controls and columns in 95 % of tries,
    `p_adjusted` is its p-value (`rag.evaluation.statistics.paired.family`). The trial itself, `name` RETRIEVED, has no
    difference: there `n` counts the questions with a value. NaN stands for what cannot be known; `error` says why a control has
    no figures.
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
        """Plain values, None for NaN."""
        return {key: None if value != value else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Controlled:
    """The answers of the trial `trial_id` and of its controls, or what ended measuring them.

    `judges` judged answers of both. `plan` is what ran: the trial, with all metrics of its answers, comes first.
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
        """Whether the budget was spent before all of them were measured."""
        return any(result.error.startswith("budget") for result in self.results)


def check(made: Plan) -> None:
    """Raise ConfigError for `answers` of an experiment that a trial cannot be measured by, before anything runs."""
    components, columns = made.graph.components, made.experiment.answers
    for config in (trial.trial.config for trial in made.trials if trial.ends.generate and columns):
        for column in (parse_column(column, config["k"], config["metric"]) for column in columns):
            check_column(column, components.role("metric", config["metric"][column.metric], f"metric.{column.metric}"))
            if column.unit:
                what = f"{column.name!r} measures rankings, which all trials are measured by"
                raise ConfigError(f"{made.experiment.name}: answers", what, "put it into metrics=[…]")
        if needed(components, {**config, "metrics": columns}):
            components.role("judge", config["judge"])


def measure_ablations(
    trial: PlannedTrial, made: Plan, store: Store, settings: Mapping[str, Any], listen: Listener
) -> Controlled:
    """Measure the answers of a trial that ran, and of its controls, on its own questions; compare the controls with the trial.

    Per column the trial itself stands first, then the controls. Nothing for a trial that generates no answer, measures none,
    or is a control itself. DataError where the trial has no scores. A control that failed has an `error` and no figures.
    """
    ahead = planned(trial, made, store)
    if ahead is None:
        return Controlled()
    trial_scores.read_scores(trial, made, store)
    outcomes = executor_of(settings).run(ahead, store, listen)
    found = {control_of(each.trial.config): _scores(each, ahead, store, outcomes) for each in ahead.trials}
    compared = _compared(found, answer_columns(ahead.trials[0].trial.config), trial.golden.examples)
    judges = (*judge_report.assessors(ahead, store), *judge_report.asking(ahead, store))
    return Controlled(compared, trial_id=trial.trial_id, judges=judges, plan=ahead)


def measured(trial: PlannedTrial, made: Plan, store: Store, settings: Mapping[str, Any], watch: Watch | None) -> Controlled:
    """As `of`, shown on its way by `watch`; without it nothing runs, and there is what ran before.

    Ctrl-C and a store that cannot be used end it, and leave everything that ran stored.
    """
    ahead = planned(trial, made, store)
    if ahead is None or (ahead.to_run and watch is None):
        return Controlled()
    try:
        with watch(ahead) if watch else nullcontext(_quiet) as listen:
            return measure_ablations(trial, made, store, settings, listen)
    except KeyboardInterrupt:
        return Controlled(interrupted=True)
    except StoreError as error:
        return Controlled(stopped=error)


def _quiet(key: str, outcome: Outcome | None) -> None:
    """Hear nothing."""


def planned(trial: PlannedTrial, made: Plan, store: Store) -> Plan | None:
    """The plan of a trial, with all metrics of its answers that the experiment asks for, and of its controls.

    None for a trial that generates no answer, measures none or is a control itself, and where the experiment asks for neither.
    """
    experiment, config = made.experiment, trial.trial.config
    config = {**config, "metrics": list(dict.fromkeys([*config["metrics"], *experiment.answers]))}
    wanted = experiment.controls or experiment.answers
    if not wanted or not trial.ends.generate or control_of(config) != "none" or not answer_columns(config):
        return None
    several = len(trial.golden.examples) > 1
    names = [name for name in OF_READING if experiment.controls and (several or name != "shuffled_contexts")]
    varied = [Trial(f"{trial.trial.name} {name}", trial.trial.choices, {**config, "control": name}) for name in names]
    return plan.assemble(experiment, [replace(trial.trial, config=config), *varied], store, made.ledger)


def answer_columns(config: Mapping[str, Any]) -> list[str]:
    """The columns of a config that measure answers: those without a cut."""
    parsed = {column: parse_column(column, config["k"], config["metric"]) for column in config["metrics"]}
    return [name for name, column in parsed.items() if not column.unit]


def _scores(trial: PlannedTrial, made: Plan, store: Store, outcomes: Mapping[str, Outcome]) -> Scores | str:
    """What a control scored, or what went wrong."""
    for key in made.graph.ancestors(*ends_of(trial)):
        if key in outcomes and outcomes[key].status in ("failed", "stopped"):
            lines = outcomes[key].error.strip().splitlines()
            return lines[-1 if lines[0].startswith("Traceback") else 0]
    try:
        return trial_scores.read_scores(trial, made, store).scores
    except DataError as error:
        return str(error)


def _compared(
    found: Mapping[str, Scores | str], columns: Sequence[str], examples: Sequence[Example]
) -> tuple[ControlResult, ...]:
    """Rows by column; `found` has the trial itself under the control `none`, then its controls."""
    tables = {name: scores for name, scores in found.items() if isinstance(scores, Scores)}
    pairs = [(column, name) for column in columns for name in tables if "none" in tables and name != "none"]
    differences = {pair: tables[pair[1]].column(pair[0]) - tables["none"].column(pair[0]) for pair in pairs}
    compared = {pair: values for pair, values in differences.items() if not np.isnan(values).all()}
    told = family(np.stack([*compared.values()], axis=1), cluster_numbers(examples)) if compared else None
    apart = {pair: _apart(told, place) for place, pair in enumerate(compared)} if told else {}
    means = {name: summarise(scores, examples) for name, scores in tables.items()}
    rows: list[ControlResult] = []
    for column, (name, scores) in product(columns, found.items()):
        called = RETRIEVED if name == "none" else name
        if isinstance(scores, str):
            rows.append(ControlResult(called, column, float("nan"), error=scores))
            continue
        place = means[name].columns.index(column)
        mean, low, high = (float(part[place]) for part in (means[name].mean, means[name].low, means[name].high))
        figures = {"n": int(means[name].n[place])} if name == "none" else apart.get((column, name), {})
        rows.append(ControlResult(called, column, mean, **figures, mean_low=low, mean_high=high))
    return tuple(rows)


def _apart(told: Family, place: int) -> dict[str, Any]:
    """The difference of one control in one column."""
    names = {"difference": told.mean, "low": told.corrected_low, "high": told.corrected_high, "p_adjusted": told.p_adjusted}
    return {name: float(figure[place]) for name, figure in names.items()} | {"n": int(told.n[place])}
