"""Read the `gate` of an experiment: how much worse a change may be, in which metrics and slices, and its bounds.

By default it uses the questions of `holdout`: scores on the questions that a winner was tuned on are too high, and the next
change would be blamed for the difference. Of a set without a holdout it uses all questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag.config.experiment import Experiment
from rag.config.parameters import yaml_text
from rag.core.checks import check_choice
from rag.core.errors import ConfigError
from rag.execution.sweep.objective import Bound, Objective, Term

KEYS = ("split", "metrics", "bounds", "inconclusive")
HOLDOUT, ALL, MARGIN = "holdout", "all", 0.02
FAILED, RATIO = "failed", "latency_p95_ratio"
EXIT_CODES = {"warn": 3, "fail": 1, "pass": 0}
"""`inconclusive` → the exit code of an INCONCLUSIVE gate; 3 is a warning."""


@dataclass(frozen=True)
class Margin:
    """How much worse a metric may be, over all questions or in slices: a dimension (`kind`) or one slice (`kind=table`)."""

    column: str
    slice: str
    margin: float


@dataclass(frozen=True)
class Gate:
    """The rules of a gate: margins, bounds, the split of its questions, and the meaning of INCONCLUSIVE."""

    margins: tuple[Margin, ...]
    bounds: tuple[Bound, ...]
    split: str = HOLDOUT
    inconclusive: str = "warn"

    @property
    def columns(self) -> tuple[str, ...]:
        """The metrics with margins, each once."""
        return tuple(dict.fromkeys(margin.column for margin in self.margins))


def split_of(raw: Mapping[str, Any], has_holdout: bool) -> str:
    """The split of a gate: the one that it names, else the holdout, else all if the golden set has no holdout."""
    split = raw.get("split", HOLDOUT if has_holdout else ALL)
    if not isinstance(split, str) or not split:
        raise ConfigError("gate.split", f"is {yaml_text(split)}", "the name of a split, for example holdout")
    return split


def parse(raw: Mapping[str, Any], objective: str | Sequence[str], columns: Sequence[str], has_holdout: bool = True) -> Gate:
    """Read a gate; `columns` are the measured metrics. ConfigError for an invalid gate.

    The default: the first metric that the objective maximizes, with a margin of .02, and no failed question.
    """
    for key in raw:
        check_choice("gate", key, KEYS)
    terms = _terms(objective, columns, "metrics" in raw)
    metrics = raw.get("metrics", {_usual(terms, columns): MARGIN})
    if not isinstance(metrics, Mapping):
        raise ConfigError("gate.metrics", f"is {yaml_text(metrics)}", "a mapping of metrics to margins, as in {ndcg@10: 0.03}")
    for term in terms:
        if term.column in metrics and not term.maximize:
            what = "is to be minimized, and a margin limits the loss of a metric to maximize"
            raise ConfigError(f"gate.metrics.{term.column}", what, f"a bound, for example {term.column} <= 0.1 in gate.bounds")
    margins = tuple(margin for column, value in metrics.items() for margin in _margins(str(column), value, columns))
    bounds = _bounds(raw.get("bounds", [f"{FAILED} == 0"]), columns)
    if not margins and not bounds:
        raise ConfigError("gate", "has no metric and no bound", "add a metric with a margin, or a bound")
    return Gate(margins, bounds, split_of(raw, has_holdout), check_inconclusive(raw.get("inconclusive", "warn")))


def with_inconclusive(experiment: Experiment, value: str) -> Experiment:
    """The experiment with another `inconclusive` in its gate."""
    return replace(experiment, gate={**experiment.gate, "inconclusive": check_inconclusive(value)})


def check_inconclusive(value: Any) -> str:
    """`warn`, `fail` or `pass`; ConfigError for anything else."""
    if not isinstance(value, str) or value not in EXIT_CODES:
        raise ConfigError("gate.inconclusive", f"is {yaml_text(value)}", f"one of {', '.join(EXIT_CODES)}")
    return value


def _terms(objective: str | Sequence[str], columns: Sequence[str], named: bool) -> tuple[Term, ...]:
    """The terms of an objective; none if it names unmeasured columns and the metrics of the gate are `named`."""
    try:
        return Objective.parse(objective, columns).terms
    except ConfigError:
        if not named:
            raise
        return ()


def _usual(terms: Sequence[Term], columns: Sequence[str]) -> str:
    large = (term.column for term in terms if term.maximize and term.column in columns)
    return next(large, Objective.parse("", columns).column)


def _margins(column: str, value: Any, columns: Sequence[str]) -> list[Margin]:
    where = f"gate.metrics.{column}"
    check_choice("gate.metrics", column, columns)
    if not isinstance(value, Mapping):
        return [Margin(column, "", check_margin(where, value))]
    for key in value:
        check_choice(where, key, ("margin", "slices"))
    slices = value.get("slices", {})
    if not isinstance(slices, Mapping):
        raise ConfigError(f"{where}.slices", f"is {yaml_text(slices)}", "a mapping of slices to margins, as in {kind: 0.10}")
    whole = [Margin(column, "", check_margin(f"{where}.margin", value["margin"]))] if "margin" in value else []
    parts = [Margin(column, str(name), check_margin(f"{where}.slices.{name}", part)) for name, part in slices.items()]
    if not whole and not parts:
        raise ConfigError(where, "has no margin", "for example 0.03")
    return [*whole, *parts]


def check_margin(where: str, value: Any) -> float:
    """A share from 0 and below 1; ConfigError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        remedy = "a number from 0 to below 1 says how much worse it may be, for example 0.03"
        raise ConfigError(where, f"is {yaml_text(value)}", remedy)
    return float(value)


def _bounds(value: Any, columns: Sequence[str]) -> tuple[Bound, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        raise ConfigError("gate.bounds", f"is {yaml_text(value)}", 'a list of texts, as in ["failed == 0"]')
    known = (FAILED, RATIO, *columns)
    bounds = []
    for text in texts:
        try:
            bound = Bound.parse(text)
        except ConfigError as error:
            remedy = f"for example {FAILED} == 0, or {RATIO} <= 1.3"
            raise ConfigError("gate.bounds", f"holds {yaml_text(text)}", remedy) from error
        if bound.column == RATIO and bound.exact:
            what = f"holds {yaml_text(text)}, and `==` cannot be used with a measured time"
            raise ConfigError("gate.bounds", what, f"{RATIO} <= 1.3")
        check_choice("gate.bounds", bound.column, known)
        bounds.append(bound)
    return tuple(bounds)
