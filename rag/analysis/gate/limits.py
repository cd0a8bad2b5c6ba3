"""What a candidate must keep whatever the baseline did, and which metrics may fail a build at all."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag.analysis.gate import latency
from rag.analysis.gate.decide import FAIL, INCONCLUSIVE, PASS, Finding, Verdict
from rag.analysis.gate.measure import Gated
from rag.analysis.gate.spec import FAILED, RATIO
from rag.core.errors import UserError
from rag.core.roles import AssessedMetric
from rag.evaluation.scoring import parse_column
from rag.execution.judges.calibration import cards
from rag.execution.sweep.objective import Bound
from rag.execution.sweep.trial_scores import Result

CARDS = "cards"
"""The space of the store where the card of a metric that is a judge of its own lies, by the identity of the metric."""


@dataclass(frozen=True)
class Kept:
    """A bound, the value that it was held against, and its interval where it has one."""

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
        """The bound as people write it."""
        return self.text

    @property
    def shown(self) -> str:
        """The verdict as people read it."""
        return "WARN" if self.advisory and self.verdict != PASS else self.verdict

    def to_json(self) -> dict[str, Any]:
        """The bound as JSON values."""
        return asdict(self)


def advisory(gated: Gated) -> frozenset[str]:
    """The columns that a judge fills, or that are one (`judge = True`), without a current calibration card in the store.

    The card of an assessed metric is that of the config's judge: another judge, another prompt, another card.
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
            trusted = bool(cards(ready.store, components.identity(config["judge"], "judge")))
        else:
            trusted = not getattr(built, "judge", False) or ready.store.has(f"{CARDS}/{components.identity(node, where)}")
        if not trusted:
            warned.add(name)
    return frozenset(warned)


def hold(gated: Gated, candidate: Result, warned: frozenset[str]) -> tuple[Kept, ...]:
    """Hold a candidate against the bounds of its gate."""
    return tuple(_hold(bound, gated, candidate, bound.column in warned) for bound in gated.gate.bounds)


def _hold(bound: Bound, gated: Gated, candidate: Result, is_advisory: bool) -> Kept:
    return _slower(bound, gated) if bound.column == RATIO else hold_scores(bound, candidate, is_advisory)


def hold_scores(bound: Bound, candidate: Result, is_advisory: bool = False) -> Kept:
    """Hold the mean of a column, or the number of failed questions, against a bound."""
    if bound.column == FAILED:
        value = float(candidate.scores.failed.sum())
    else:
        scores = candidate.scores.column(bound.column)
        value = round(float(np.nanmean(scores)), 6) if not np.isnan(scores).all() else math.nan
    if math.isnan(value):
        return _kept(bound, Finding(INCONCLUSIVE, "no question has a value"), advisory=is_advisory)
    found = Finding(PASS, "kept") if bound.holds(value) else Finding(FAIL, "broken")
    return _kept(bound, found, (value,), is_advisory)


def _kept(bound: Bound, found: Finding, values: tuple[float, ...] = (), advisory: bool = False) -> Kept:
    value, low, high = (*values, None, None, None)[:3]
    return Kept(bound.text, value, low, high, found.verdict, found.why, found.needed, advisory)


def _slower(bound: Bound, gated: Gated) -> Kept:
    try:
        found = None if gated.same else latency.ratio(gated.kept, gated.candidate)
    except UserError as error:
        why = f"the baseline's pipeline cannot be built here: {error.where} {error.what}"
        return _kept(bound, Finding(INCONCLUSIVE, why))
    if found is None:
        return _kept(bound, Finding(PASS, "not measured: the pipelines are the same"))
    return hold_ratio(bound, found)


def hold_ratio(bound: Bound, found: latency.Ratio) -> Kept:
    """Hold how much slower a pipeline is against a bound."""
    return _kept(bound, clocked(bound, found), tuple(round(value, 4) for value in (found.value, found.low, found.high)))


def clocked(bound: Bound, found: latency.Ratio) -> Finding:
    """Broken where the whole interval lies beyond the bound, kept where all of it lies within, else open."""
    low, high = (bound.holds(end) for end in (found.low, found.high))
    if low == high:
        return Finding(PASS, "kept") if low else Finding(FAIL, "broken")
    return Finding(INCONCLUSIVE, f"the clock cannot tell from {found.n} questions; a quieter machine may")
