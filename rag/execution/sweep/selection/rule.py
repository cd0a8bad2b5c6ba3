"""The key `recommend` of an experiment: how much quality a saving may cost."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.config.parameters import yaml_text
from rag.core.checks import check_choice
from rag.core.errors import ConfigError
from rag.execution.graph.plan import Plan
from rag.execution.sweep.objective import NUMBER, Objective

MARGIN = 0.03
KEYS = ("margin", "exchange")
SCALES = {"ms": "latency", "usd": "cost", "mb": "size"}
"""Units of an exchange rate, and what they measure: p95 of a question, cost of 1,000 questions, size of the indexes."""
RATE = re.compile(rf"(?P<quality>{NUMBER})\s+(?P<column>[^\s=]+)\s*=\s*(?P<amount>{NUMBER})\s*(?P<unit>[a-z]+)", re.IGNORECASE)
FORM = "for example: 0.01 ndcg@10 = 50 ms, with the unit ms, usd or MB"


@dataclass(frozen=True)
class Price:
    """The price of a unit of a scale in units of the objective; `text` is the clause as written."""

    unit: str
    quality: float
    text: str

    @property
    def scale(self) -> str:
        """`latency`, `cost` or `size`."""
        return SCALES[self.unit]


@dataclass(frozen=True)
class Rule:
    """How a trial is chosen: the best by mean, or a cheaper one that is shown not to be worse by more than `margin`.

    With `prices` it is the trial of which the mean less the price of all scales is highest, and the margin is not used. `span`
    is the most that a question can lose: 1 for one metric.
    """

    margin: float = MARGIN
    prices: tuple[Price, ...] = ()
    span: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """As JSON values: the margin, None where there are prices, and the prices as written."""
        return {"margin": None if self.prices else self.margin, "exchange": [price.text for price in self.prices]}


def selection_rule(made: Plan, objective: Objective) -> Rule:
    """The rule of a plan; ConfigError for a clause that cannot be read, or a scale that is not measured."""
    experiment = made.experiment
    rule = parse(experiment.recommend, experiment.gate, objective)
    needed = {"latency": (any(trial.ends.latency for trial in made.trials), "latency=0 measures no time", "set latency=16")}
    needed["cost"] = (any(trial.ends.generate for trial in made.trials), "no trial generates anything", "choose a generator")
    for price in rule.prices:
        measured, what, remedy = needed.get(price.scale, (True, "", ""))
        if not measured:
            raise ConfigError("recommend.exchange", f"is {price.text!r}, and {what}", f"{remedy}, or leave it out")
    return rule


def parse(raw: Mapping[str, Any], gate: Mapping[str, Any], objective: Objective) -> Rule:
    """Read `margin` or `exchange`. Without either the margin is that of the gate for the objective, and .03 without one."""
    for key in raw:
        check_choice("recommend", key, KEYS)
    if raw and objective.measured:
        what = f"has no use: {objective.column} is not a score of questions"
        raise ConfigError("recommend", what, "leave it out, or choose by a metric")
    if len(raw) > 1:
        raise ConfigError("recommend", "has a margin and an exchange rate", "give one of them")
    low, high = objective.span
    span = high - low
    if "exchange" in raw:
        return Rule(prices=_prices(raw["exchange"], objective), span=span)
    margin = _margin(raw["margin"], span) if "margin" in raw else _of_gate(gate, objective)
    return Rule(margin, span=span)


def _margin(value: Any, span: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < span:
        remedy = f"a number from 0 to below {span:g}, for example 0.03; with 0 it is always the best by mean"
        raise ConfigError("recommend.margin", f"is {yaml_text(value)}", remedy)
    return float(value)


def _of_gate(gate: Mapping[str, Any], objective: Objective) -> float:
    metrics = gate.get("metrics", {})
    margin = metrics.get(objective.column) if isinstance(metrics, Mapping) and not objective.summed else None
    margin = margin.get("margin") if isinstance(margin, Mapping) else margin
    usable = isinstance(margin, int | float) and not isinstance(margin, bool) and 0 <= margin < 1
    return float(margin) if margin is not None and usable else MARGIN


def _prices(value: Any, objective: Objective) -> tuple[Price, ...]:
    texts: Sequence[Any] = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    prices = [_price(text, objective) for text in texts]
    if not prices:
        raise ConfigError("recommend.exchange", f"is {yaml_text(value)}", FORM)
    units = [price.unit for price in prices]
    if len(set(units)) < len(units):
        raise ConfigError("recommend.exchange", "has two rates of one unit", "give one rate for each of ms, usd and MB")
    return tuple(prices)


def _price(text: Any, objective: Objective) -> Price:
    match = RATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match["unit"].lower() not in SCALES:
        raise ConfigError("recommend.exchange", f"is {yaml_text(text)}", FORM)
    column = "objective" if objective.summed else objective.column
    if match["column"] != column:
        raise ConfigError("recommend.exchange", f"names {match['column']!r}", f"trials are ordered by {column}: name that")
    quality, amount = float(match["quality"]), float(match["amount"])
    if not (0 < quality < math.inf and 0 < amount < math.inf):
        raise ConfigError("recommend.exchange", f"is {text!r}", "both numbers have to be above 0")
    return Price(match["unit"].lower(), quality / amount, text.strip())
