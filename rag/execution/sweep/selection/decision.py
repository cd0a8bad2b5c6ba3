"""The trial to recommend: the best by mean, a cheaper one that is not worse by more than a margin, or the one worth most."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.evaluation.statistics import pareto
from rag.execution.sweep.selection.bootstrap import SAME, draw
from rag.execution.sweep.selection.rule import Rule
from rag.execution.sweep.selection.winner import Entrant, Unsettled

THOUSAND = 1000.0
"""A price in US dollars is the price of so many questions."""
QUESTIONS, CLUSTERS = 30, 20
"""Questions with a value of every trial, and clusters of them, below which no trial is recommended."""


@dataclass(frozen=True)
class Decision:
    """The trial to take. `saving` is what it saves against the best by mean: cost, latency, size; empty for the best itself.

    `among` counts the cheaper trials that may be taken, `lowest` is how far behind the best the taken one may be, `allowed`
    how far behind it may be found on a holdout. `shares` is P(best) by trial id, empty where it cannot be known. `worth` are
    means less prices by trial id, empty without prices. `sample` are the numbers of questions and clusters.
    """

    best: Entrant
    taken: Entrant
    rule: Rule
    sample: tuple[int, int]
    saving: str = ""
    among: int = 0
    lowest: float = 0.0
    allowed: float = 0.0
    unsettled: Unsettled | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    worth: Mapping[str, float] = field(default_factory=dict)

    @property
    def enough(self) -> bool:
        """Whether the questions are enough for a recommendation."""
        return self.sample[0] >= QUESTIONS and self.sample[1] >= CLUSTERS


def decide(entrants: Sequence[Entrant], cluster: Ints, rule: Rule) -> Decision:
    """Choose among entrants, best first by mean; `cluster` numbers the cluster of each question from 0.

    A cheaper trial is taken where the lower end of its difference from the best of all trials is above -margin. These ends
    hold for all cheaper trials together in 95 % of tries, whichever trial is the best (`Draws.at_worst`). Of trials with the
    very mean of the best the cheapest is taken. A trial saves cost; or time, at the same cost, where its latency is shown to
    be lower; or space, at the same cost where no time was measured.
    """
    values = np.stack([np.zeros(len(cluster)) if one.values is None else one.values for one in entrants], axis=1)
    asked = cluster[~np.isnan(values).any(axis=1)]
    first = Decision(entrants[0], entrants[0], rule, (len(asked), len(np.unique(asked))))
    if any(one.values is None for one in entrants):
        return first
    drawn, means = draw(values, cluster), np.nanmean(values, axis=0)
    if drawn and first.enough:
        first = replace(first, shares=dict(zip((one.trial_id for one in entrants), drawn.best().tolist(), strict=True)))
    if rule.prices:
        return _worth_most(entrants, means, first)
    savings = _savings(entrants)
    rows = np.flatnonzero([bool(saving) for saving in savings])
    lowest = drawn.at_worst(rows, rule.span) if drawn and len(rows) else np.full(len(rows), -rule.span)
    return _Cheaper(entrants, rows, savings, means[rows] - means[0], lowest).chosen(first)


@dataclass(frozen=True)
class _Cheaper:
    """Cheaper trials: `rows` among all entrants, `behind` and `lowest` in the same order, `savings` of all entrants."""

    entrants: Sequence[Entrant]
    rows: Ints
    savings: Sequence[str]
    behind: Floats
    lowest: Floats

    def chosen(self, first: Decision) -> Decision:
        equal, margin = self.behind >= -SAME, first.rule.margin
        fits = self.rows[equal | (self.lowest > -margin)]
        if not len(fits):
            return replace(first, unsettled=self.unsettled(margin) if margin and len(self.rows) else None)
        row = cheapest(self.entrants, fits)
        place = self.rows.tolist().index(row)
        taken = replace(first, taken=self.entrants[row], saving=self.savings[row], among=len(fits))
        return replace(taken, lowest=float(self.lowest[place]), allowed=0.0 if equal[place] else margin)

    def unsettled(self, margin: float) -> Unsettled:
        """The cheapest of the trials that are behind by less than the margin, or else the one that is least behind."""
        within = self.rows[self.behind > -margin]
        row = cheapest(self.entrants, within) if len(within) else int(self.rows[self.behind.argmax()])
        place = self.rows.tolist().index(row)
        gap, low = float(self.behind[place]), float(self.lowest[place])
        asked = int((~np.isnan(_values(self.entrants[0]))).sum())
        # An interval shrinks with the root of the number of questions.
        needed = asked * ((gap - low) / (gap + margin)) ** 2 if len(within) else math.inf
        return Unsettled(self.entrants[row], self.savings[row], gap, low, needed)


def _worth_most(entrants: Sequence[Entrant], means: Floats, first: Decision) -> Decision:
    prices = np.array([_price(one, first.rule) for one in entrants])
    worth = means - prices
    if np.isnan(worth).all():
        return first
    row = int(np.nanargmax(worth))
    allowed = float(prices[0] - prices[row])
    by_trial = dict(zip((each.trial_id for each in entrants), worth.tolist(), strict=True))
    return replace(first, taken=entrants[row], saving="worth" if row else "", allowed=max(allowed, 0.0), worth=by_trial)


def _price(one: Entrant, rule: Rule) -> float:
    asked = len(_values(one))
    amounts = {"latency": one.latency, "cost": one.cost / asked * THOUSAND, "size": one.size / 1e6}
    return sum(price.quality * amounts[price.scale] for price in rule.prices)


def _savings(entrants: Sequence[Entrant]) -> list[str]:
    """What each trial saves against the first; empty for nothing."""
    timed = [row for row, one in enumerate(entrants) if one.latency == one.latency]
    faster = {timed[row] for row in pareto.faster([entrants[row].seconds for row in timed], 0)} if 0 in timed else set()
    return [_saving(one, entrants[0], row in faster) for row, one in enumerate(entrants)]


def _saving(one: Entrant, best: Entrant, is_faster: bool) -> str:
    if one.cost < best.cost:
        return "cost"
    if one.cost != best.cost and not (math.isnan(one.cost) and math.isnan(best.cost)):
        return ""
    if is_faster:
        return "latency"
    timed = one.latency == one.latency or best.latency == best.latency
    return "size" if not timed and one.size < best.size else ""


def cheapest(entrants: Sequence[Entrant], rows: Ints) -> int:
    """The row of least cost; of several the best by mean that is not shown to be slower than the fastest, or the smallest."""
    least = min((entrants[row].cost for row in rows if not math.isnan(entrants[row].cost)), default=math.nan)
    left = [int(row) for row in rows if entrants[row].cost == least] or [int(row) for row in rows]
    timed = [row for row in left if entrants[row].latency == entrants[row].latency]
    if timed:
        fastest = min(range(len(timed)), key=lambda place: entrants[timed[place]].latency)
        return timed[pareto.not_slower([entrants[row].seconds for row in timed], fastest)[0]]
    return min(left, key=lambda row: entrants[row].size if entrants[row].size == entrants[row].size else math.inf)


def _values(one: Entrant) -> Floats:
    return np.empty(0) if one.values is None else one.values
