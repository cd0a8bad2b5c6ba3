"""Bounds on a candidate that do not depend on the baseline, and the metrics that may not fail a build."""

import math
from dataclasses import dataclass

import numpy as np

from rag.analysis.gate import latency
from rag.analysis.gate.decide import Judged
from rag.analysis.gate.finding import FAIL, INCONCLUSIVE, PASS, Finding, Verdict
from rag.analysis.gate.measure import Gated
from rag.analysis.gate.spec import FAILED, RATIO
from rag.core.errors import UserError
from rag.core.roles import AssessedMetric
from rag.evaluation.scoring import parse_column
from rag.execution.judges.calibration import cards, task_of
from rag.execution.sweep.objective import Bound
from rag.execution.sweep.trial_scores import Result

CARDS = "cards"
"""The part of the store for the cards of metrics that are judges themselves, by the identity of the metric."""


@dataclass(frozen=True)
class BoundResult(Judged):
    """The result for one bound: the value that it limits, with its interval if it has one."""

    text: str
    value: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    why: str
    needed: int | None = None
    advisory: bool = False

    @property
    def name(self) -> str:
        """The bound as in the config."""
        return self.text


def advisory(gated: Gated) -> frozenset[str]:
    """The columns of judges, or of metrics that are judges (`judge = True`), that may not decide.

    They have no current calibration card in the store, or one of labels on which the judge does not decide (`Card.decides`).

    The card of an assessed metric is that of the config's judge at its task: another judge or prompt needs another card.
    """
    config, ready = gated.candidate.trial.trial.config, gated.candidate
    components, warned = ready.plan.graph.components, set()
    for name in (*gated.gate.columns, *(bound.column for bound in gated.gate.bounds)):
        if name in (FAILED, RATIO):
            continue
        metric = parse_column(name, config["k"], config["metric"]).metric
        node, where = config["metric"][metric], f"metric.{metric}"
        built = components.role("metric", node, where)
        if isinstance(built, AssessedMetric):
            own = cards(ready.store, components.identity(config["judge"], "judge"))
            decides = [card.decides for card in own if card.task == task_of(built)]
            trusted = bool(decides) and all(decides)
        else:
            trusted = not getattr(built, "judge", False) or ready.store.has(f"{CARDS}/{components.identity(node, where)}")
        if not trusted:
            warned.add(name)
    return frozenset(warned)


def hold(gated: Gated, candidate: Result, warned: frozenset[str]) -> tuple[BoundResult, ...]:
    """Check a candidate against the bounds of its gate."""
    return tuple(
        _hold_latency(bound, gated) if bound.column == RATIO else hold_scores(bound, candidate, bound.column in warned)
        for bound in gated.gate.bounds
    )


def hold_scores(bound: Bound, candidate: Result, is_advisory: bool = False) -> BoundResult:
    """Check the mean of a column, or the number of failed questions, against a bound."""
    if bound.column == FAILED:
        value = float(candidate.scores.failed.sum())
    else:
        scores = candidate.scores.column(bound.column)
        value = round(float(np.nanmean(scores)), 6) if not np.isnan(scores).all() else math.nan
    if math.isnan(value):
        return _result(bound, Finding(INCONCLUSIVE, "no question has a value"), advisory=is_advisory)
    finding = Finding(PASS, "kept") if bound.holds(value) else Finding(FAIL, "broken")
    return _result(bound, finding, (value,), is_advisory)


def _result(bound: Bound, finding: Finding, values: tuple[float, ...] = (), advisory: bool = False) -> BoundResult:
    value, low, high = (*values, None, None, None)[:3]
    return BoundResult(bound.text, value, low, high, **vars(finding), advisory=advisory)


def _hold_latency(bound: Bound, gated: Gated) -> BoundResult:
    try:
        ratio = None if gated.same else latency.ratio(gated.kept, gated.candidate)
    except UserError as error:
        why = f"the baseline's pipeline cannot be built here: {error.where} {error.what}"
        return _result(bound, Finding(INCONCLUSIVE, why))
    if ratio is None:
        return _result(bound, Finding(PASS, "not measured: the pipelines are the same"))
    return hold_ratio(bound, ratio)


def hold_ratio(bound: Bound, ratio: latency.Ratio) -> BoundResult:
    """Check a ratio of latencies: FAIL if the whole interval breaks the bound, PASS if all of it keeps the bound."""
    low, high = (bound.holds(end) for end in (ratio.low, ratio.high))
    finding = Finding(PASS, "kept") if low else Finding(FAIL, "broken")
    if low != high:
        why = f"the interval over {ratio.n} timed questions contains the bound; a machine with less load may settle it"
        finding = Finding(INCONCLUSIVE, why)
    return _result(bound, finding, tuple(round(value, 4) for value in (ratio.value, ratio.low, ratio.high)))
