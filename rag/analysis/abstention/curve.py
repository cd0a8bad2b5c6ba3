"""Risk against coverage of answers that may be declined (El-Yaniv and Wiener 2010). Pure arithmetic.

A question has a *confidence*, known before it is answered, and a *loss* in [0, 1], what answering it costs. Declined are the
questions whose confidence lies below a threshold. *Coverage* is the share that is answered, *risk* the mean loss of that share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rag.evaluation.statistics.agreement import Auc, Estimate, Resampled, Statistic

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Cases:
    """Questions that were answered: `losses` count 1 where a question that cannot be answered was; one row per question."""

    confidence: Floats
    losses: Floats
    answerable: Bools
    clusters: tuple[str, ...]

    def __len__(self) -> int:
        """How many questions."""
        return len(self.confidence)

    def among(self, kept: Bools) -> "Cases":
        """Some of the questions."""
        rows = zip(self.clusters, kept, strict=True)
        return Cases(self.confidence[kept], self.losses[kept], self.answerable[kept], tuple(name for name, own in rows if own))


class Aurc(Statistic):
    """Area under the risk-coverage curve: the mean, over n = 1 … N, of the risk of the n most confident questions.

    As Geifman, Uziel and El-Yaniv (2019) estimate it. Questions of one confidence may come in any order: the mean over all
    orders is taken, in closed form by harmonic numbers H. A tie of m questions with losses of mean l, behind M questions whose
    losses add up to C, adds (C - M l) (H(M + m) - H(M)) + m l.
    """

    def __init__(self, confidence: Floats, losses: Floats) -> None:
        self._order = np.argsort(-confidence, kind="stable")
        ordered = confidence[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._losses = losses[self._order]

    def __call__(self, weights: Floats) -> Floats:
        """One area per row; weights are whole numbers, how often each question was drawn."""
        ordered = weights[:, self._order]
        size = np.add.reduceat(ordered, self._starts, axis=1)
        lost = np.add.reduceat(ordered * self._losses, self._starts, axis=1)
        after, total = np.cumsum(size, axis=1), np.cumsum(lost, axis=1)
        before = after - size
        # Drawn counts are whole, so H is a table.
        table = np.r_[0.0, np.cumsum(1 / np.arange(1, after.max() + 1))]
        steps = table[after.astype(np.int64)] - table[before.astype(np.int64)]
        mean = np.divide(lost, size, out=np.zeros_like(lost), where=size > 0)
        area: Floats = ((total - lost - before * mean) * steps + lost).sum(axis=1) / after[:, -1]
        return area


class Ratio(Statistic):
    """The mean of `values` over the questions that are `counted`."""

    def __init__(self, values: Floats, counted: Bools) -> None:
        self._above, self._counted = np.where(counted, values, 0.0), counted.astype(np.float64)

    def __call__(self, weights: Floats) -> Floats:
        """NaN for draws in which none is counted."""
        above, below = weights @ self._above, weights @ self._counted
        ratio: Floats = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
        return ratio


@dataclass(frozen=True)
class Area:
    """The area of a confidence, and what it can be compared with.

    `best` is that of an order by loss, which no confidence beats; `chance` the risk of answering everything, which an order by
    chance has. `auc` is the probability that a question that can be answered has more confidence than one that cannot.
    """

    aurc: Estimate
    best: float
    chance: float
    auc: Estimate


def area(cases: Cases, draws: int = 10_000) -> Area:
    """Intervals are by bootstrap of clusters."""
    resampled = Resampled(cases.clusters, draws)
    once = np.ones((1, len(cases)))
    both = cases.answerable.any() and not cases.answerable.all()
    nan = float("nan")
    return Area(
        resampled.estimate(resampled.values(Aurc(cases.confidence, cases.losses))),
        float(Aurc(-cases.losses, cases.losses)(once)[0]),
        float(cases.losses.mean()),
        resampled.measured(Auc(cases.confidence, cases.answerable)) if both else Estimate(nan, nan, nan),
    )


@dataclass(frozen=True)
class Point:
    """What a threshold does: everything with at least so much confidence is answered.

    `risk` is NaN where nothing is answered, `answered` where no question can be, `declined` where all can. `value` is the mean
    of 1 - loss over what is answered and can be, 1 over what is declined and cannot be, 0 over the rest.
    """

    threshold: float
    coverage: float
    risk: float
    answered: float
    declined: float
    value: float


def points(cases: Cases) -> list[Point]:
    """The curve: one point per distinct confidence, the highest first, and before them the one that declines everything.

    A threshold lies halfway between two confidences, so that neither is at the mercy of its last digit.
    """
    order = np.argsort(-cases.confidence, kind="stable")
    confidence, losses, answerable = cases.confidence[order], cases.losses[order], cases.answerable[order]
    last = np.flatnonzero(np.r_[confidence[1:] != confidence[:-1], True])
    worth = np.where(answerable, 1 - losses, -1.0).cumsum()[last] + (~answerable).sum()
    found = [Point(np.inf, 0.0, np.nan, *_shares(0, 0, answerable), float((~answerable).mean()))]
    for place, value in zip(last.tolist(), worth.tolist(), strict=True):
        after = confidence[place + 1] if place + 1 < len(confidence) else -np.inf
        threshold = (confidence[place] + after) / 2 if after > -np.inf else after
        kept = int(answerable[: place + 1].sum())
        shares = _shares(kept, place + 1 - kept, answerable)
        risk = float(losses[: place + 1].mean())
        found.append(Point(float(threshold), (place + 1) / len(cases), risk, *shares, value / len(cases)))
    return found


def _shares(kept: int, wrong: int, answerable: Bools) -> tuple[float, float]:
    can, cannot = int(answerable.sum()), int((~answerable).sum())
    return kept / can if can else float("nan"), 1 - wrong / cannot if cannot else float("nan")


def choose(curve: Sequence[Point], risk: float | None = None) -> Point:
    """The threshold of the greatest value, or of the greatest coverage with at most this risk; of equals what answers most.

    The first is how SQuAD 2.0 finds one (Rajpurkar et al. 2018). The risk of the second is what these very questions had:
    others may have more (Geifman and El-Yaniv 2017 bound by how much).
    """
    if risk is None:
        return max(curve, key=lambda point: (round(point.value, 12), point.coverage))
    return max((point for point in curve if point.coverage == 0 or point.risk <= risk), key=lambda point: point.coverage)


@dataclass(frozen=True)
class Checked:
    """What a threshold does to other questions than it was chosen on, with intervals."""

    coverage: Estimate
    risk: Estimate
    answered: Estimate
    declined: Estimate
    value: Estimate
    gain: Estimate
    """Its value above that of answering everything."""


def check(cases: Cases, threshold: float, draws: int = 10_000) -> Checked:
    """Intervals are by bootstrap of clusters, the threshold held fast."""
    kept, every = cases.confidence >= threshold, np.ones(len(cases), bool)
    worth = np.where(kept, np.where(cases.answerable, 1 - cases.losses, 0.0), (~cases.answerable).astype(np.float64))
    without = np.where(cases.answerable, 1 - cases.losses, 0.0)
    resampled = Resampled(cases.clusters, draws)

    def mean(values: Floats, counted: Bools) -> Estimate:
        found = resampled.values(Ratio(values, counted))
        estimate = resampled.estimate(found)
        return estimate if counted.any() else replace(estimate, low=float("nan"), high=float("nan"))

    answered = kept.astype(np.float64)
    return Checked(
        mean(answered, every),
        mean(cases.losses, kept),
        mean(answered, cases.answerable),
        mean(1 - answered, ~cases.answerable),
        mean(worth, every),
        mean(worth - without, every),
    )
