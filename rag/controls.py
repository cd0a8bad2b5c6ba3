"""What a trial's answers owe to its contexts: the same trial without any, with those of other questions, and with the gold."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag import plan, results
from rag.errors import DataError, StoreError
from rag.evaluate import Scores, parse_column
from rag.execute import Listener, Outcome, executor_of
from rag.paired import family
from rag.plan import Plan, PlannedTrial, ends_of
from rag.resampling import cluster_numbers
from rag.space import Trial
from rag.store import Store
from rag.wiring import OF_READING, control_of

Floats = NDArray[np.float64]

Watch = Callable[[Plan], AbstractContextManager[Listener]]
"""What shows the progress of a plan."""

RETRIEVED = "retrieved"
"""The trial itself, with the contexts that it found."""


@dataclass(frozen=True)
class ControlResult:
    """One answer metric of a trial under one control: its mean, and how far that is from the trial's own.

    `difference` is control - trial over the `n` questions that both have a value for; [low, high] holds together with those of
    all other controls and columns in 95 % of tries, `p_adjusted` is the p-value beside them (`rag.paired.family`). Of the trial
    itself, `name` RETRIEVED, there is the mean alone. NaN stands for what cannot be known; `error` says why a control has none.
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

    def to_json(self) -> dict[str, Any]:
        """Plain values, None for NaN."""
        return {key: None if value != value else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Controlled:
    """The controls of a trial, or what ended them."""

    results: tuple[ControlResult, ...] = ()
    interrupted: bool = False
    stopped: StoreError | None = None

    @property
    def failed(self) -> bool:
        """Whether a control could not be measured."""
        return any(result.error for result in self.results)

    @property
    def exhausted(self) -> bool:
        """Whether the budget was spent before all of them were measured."""
        return any(result.error.startswith("budget") for result in self.results)


def of(
    trial: PlannedTrial, made: Plan, store: Store, settings: Mapping[str, Any], listen: Listener
) -> tuple[ControlResult, ...]:
    """Run the controls of a trial that ran, on its own questions, and compare their answers with its own.

    Per column the trial itself stands first, then the controls. Nothing for a trial that generates no answer, measures none,
    or is a control itself. DataError where the trial has no scores. A control that failed has an `error` and no figures.
    """
    columns = answer_columns(trial.trial.config)
    ahead = planned(trial, made, store) if columns else None
    if ahead is None:
        return ()
    own = results.of(trial, made, store).scores
    outcomes = executor_of(settings).run(ahead, store, listen)
    found = {control_of(each.trial.config): _scores(each, ahead, store, outcomes) for each in ahead.trials}
    return _compared(own, found, columns, cluster_numbers(trial.golden.examples))


def measured(trial: PlannedTrial, made: Plan, store: Store, settings: Mapping[str, Any], watch: Watch | None) -> "Controlled":
    """The controls of a trial, shown on their way by `watch`; without it nothing runs, and there are those that ran before.

    Ctrl-C and a store that cannot be used end them, and leave everything that ran stored.
    """
    ahead = planned(trial, made, store) if answer_columns(trial.trial.config) else None
    if ahead is None or (ahead.to_run and watch is None):
        return Controlled()
    try:
        with watch(ahead) if watch else nullcontext(_quiet) as listen:
            return Controlled(of(trial, made, store, settings, listen))
    except KeyboardInterrupt:
        return Controlled(interrupted=True)
    except StoreError as error:
        return Controlled(stopped=error)


def _quiet(key: str, outcome: Outcome | None) -> None:
    """Hear nothing."""


def planned(trial: PlannedTrial, made: Plan, store: Store) -> Plan | None:
    """The plan of a trial's controls; None for one that generates no answer or is a control itself."""
    config = trial.trial.config
    if not trial.ends.generate or control_of(config) != "none":
        return None
    names = [name for name in OF_READING if name != "shuffled_contexts" or len(trial.golden.examples) > 1]
    varied = [Trial(f"{trial.trial.name} {name}", trial.trial.choices, {**config, "control": name}) for name in names]
    return plan.assemble(made.experiment, varied, store, made.ledger)


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
        return results.of(trial, made, store).scores
    except DataError as error:
        return str(error)


def _compared(
    own: Scores, found: Mapping[str, Scores | str], columns: Sequence[str], cluster: NDArray[np.int64]
) -> tuple[ControlResult, ...]:
    ran = {name: scores for name, scores in found.items() if isinstance(scores, Scores)}
    pairs = [(column, name) for column in columns for name in ran]
    differences = [ran[name].column(column) - own.column(column) for column, name in pairs]
    told = family(np.stack(differences, axis=1), cluster) if pairs else None
    rows: list[ControlResult] = []
    for column in columns:
        rows.append(ControlResult(RETRIEVED, column, _mean(own.column(column)), n=_count(own.column(column))))
        for name, scores in found.items():
            if isinstance(scores, str) or told is None:
                rows.append(ControlResult(name, column, float("nan"), error=str(scores)))
                continue
            place = pairs.index((column, name))
            figures = (told.mean, told.corrected_low, told.corrected_high, told.p_adjusted)
            difference, low, high, p_adjusted = (float(figure[place]) for figure in figures)
            mean, n = _mean(scores.column(column)), int(told.n[place])
            rows.append(ControlResult(name, column, mean, difference, low, high, p_adjusted, n))
    return tuple(rows)


def _count(values: Floats) -> int:
    return int((~np.isnan(values)).sum())


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if _count(values) else float("nan")
