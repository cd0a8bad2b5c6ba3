"""Risk and coverage of selective answering (El-Yaniv and Wiener 2010). Pure arithmetic.

A question has a *confidence*, known before it is answered, and a *loss* in [0, 1], the cost of answering it. Questions with a
confidence below a threshold are declined. *Coverage* is the share of answered questions, *risk* their mean loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.core.arrays import Flags, Floats
from rag.evaluation.statistics.agreement import Auc, Estimate, Resampled, Statistic, ratio


@dataclass(frozen=True)
class Cases:
    """Answered questions, one row each; an unanswerable question that was answered has the loss 1."""

    confidence: Floats
    losses: Floats
    answerable: Flags
    clusters: tuple[str, ...]

    def __len__(self) -> int:
        """The number of questions."""
        return len(self.confidence)

    def among(self, chosen: Flags) -> "Cases":
        """The chosen questions."""
        clusters = tuple(np.array(self.clusters, np.str_)[chosen].tolist())
        return Cases(self.confidence[chosen], self.losses[chosen], self.answerable[chosen], clusters)


class Aurc(Statistic):
    """Area under the risk-coverage curve: the mean, over n = 1 … N, of the risk of the n most confident questions.

    The estimate of Geifman, Uziel and El-Yaniv (2019). For questions with equal confidence it is the mean over all their
    orders, in closed form by harmonic numbers H: a tie of m questions with mean loss l, after M questions with a total loss C,
    adds (C - M l) (H(M + m) - H(M)) + m l.
    """

    def __init__(self, confidence: Floats, losses: Floats) -> None:
        self._order = np.argsort(-confidence, kind="stable")
        ordered = confidence[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._losses = losses[self._order]

    def __call__(self, weights: Floats) -> Floats:
        """One area per draw; weights are whole numbers, how often each question was drawn."""
        ordered = weights[:, self._order]
        size = np.add.reduceat(ordered, self._starts, axis=1)
        lost = np.add.reduceat(ordered * self._losses, self._starts, axis=1)
        after, total = np.cumsum(size, axis=1), np.cumsum(lost, axis=1)
        before = after - size
        # Counts are whole numbers, so H is a table.
        table = np.r_[0.0, np.cumsum(1 / np.arange(1, after.max() + 1))]
        steps = table[after.astype(np.int64)] - table[before.astype(np.int64)]
        mean = np.divide(lost, size, out=np.zeros_like(lost), where=size > 0)
        area: Floats = ((total - lost - before * mean) * steps + lost).sum(axis=1) / after[:, -1]
        return area


class Ratio(Statistic):
    """The mean of `values` over the questions in `counted`."""

    def __init__(self, values: Floats, counted: Flags) -> None:
        self._above, self._counted = np.where(counted, values, 0.0), counted.astype(np.float64)

    def __call__(self, weights: Floats) -> Floats:
        """One mean per draw; NaN if no question of it counts."""
        return ratio(weights @ self._above, weights @ self._counted)


@dataclass(frozen=True)
class Area:
    """The area under the curve of a confidence, with two references.

    `best` is the area of the order by loss, the least possible; `chance` that of a random order, the risk of answering
    everything. `auc` is the probability that an answerable question has more confidence than an unanswerable one.
    """

    aurc: Estimate
    best: float
    chance: float
    auc: Estimate


def area(cases: Cases, draws: int = 10_000) -> Area:
    """The areas of some questions, with intervals by cluster bootstrap."""
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
    """The effect of a threshold: questions with at least this confidence are answered.

    `answered` is the share of answerable questions that are answered, `declined` the share of unanswerable questions that are
    declined; NaN without such questions, as is `risk` if none is answered. `value` is a mean over all questions: 1 - loss for
    an answerable question that is answered, 1 for an unanswerable one that is declined, else 0.
    """

    threshold: float
    coverage: float
    risk: float
    answered: float
    declined: float
    value: float


def points(cases: Cases) -> list[Point]:
    """The curve: first the point that declines everything, then one per distinct confidence, the highest first.

    A threshold lies halfway between two confidences, so last digits do not matter.
    """
    order = np.argsort(-cases.confidence, kind="stable")
    confidence, losses, answerable = cases.confidence[order], cases.losses[order], cases.answerable[order]
    last = np.flatnonzero(np.r_[confidence[1:] != confidence[:-1], True])
    worth = np.where(answerable, 1 - losses, -1.0).cumsum()[last] + (~answerable).sum()
    curve = [Point(np.inf, 0.0, np.nan, *_shares(0, 0, answerable), float((~answerable).mean()))]
    for place, value in zip(last.tolist(), worth.tolist(), strict=True):
        after = confidence[place + 1] if place + 1 < len(confidence) else -np.inf
        threshold = (confidence[place] + after) / 2 if after > -np.inf else after
        right = int(answerable[: place + 1].sum())
        shares = _shares(right, place + 1 - right, answerable)
        risk = float(losses[: place + 1].mean())
        curve.append(Point(float(threshold), (place + 1) / len(cases), risk, *shares, value / len(cases)))
    return curve


def _shares(right: int, wrong: int, answerable: Flags) -> tuple[float, float]:
    can, cannot = int(answerable.sum()), int((~answerable).sum())
    return right / can if can else float("nan"), 1 - wrong / cannot if cannot else float("nan")


def choose(curve: Sequence[Point], risk: float | None = None) -> Point:
    """The threshold with the greatest value or, if `risk` is given, the greatest coverage within that risk.

    Of equal thresholds the one that answers most. The first is the rule of SQuAD 2.0 (Rajpurkar et al. 2018). The second keeps
    the risk on these questions; other questions may have more (Geifman and El-Yaniv 2017 give a bound).
    """
    if risk is None:
        return max(curve, key=lambda point: (round(point.value, 12), point.coverage))
    return max((point for point in curve if point.coverage == 0 or point.risk <= risk), key=lambda point: point.coverage)


@dataclass(frozen=True)
class Checked:
    """The effect of a threshold on some questions, with intervals; the fields are those of Point."""

    coverage: Estimate
    risk: Estimate
    answered: Estimate
    declined: Estimate
    value: Estimate
    gain: Estimate
    """`value` minus that of answering everything."""


def check(cases: Cases, threshold: float, draws: int = 10_000) -> Checked:
    """The effect of a fixed threshold, with intervals by cluster bootstrap."""
    chosen, every = cases.confidence >= threshold, np.ones(len(cases), bool)
    worth = np.where(chosen, np.where(cases.answerable, 1 - cases.losses, 0.0), (~cases.answerable).astype(np.float64))
    without = np.where(cases.answerable, 1 - cases.losses, 0.0)
    resampled = Resampled(cases.clusters, draws)

    def mean(values: Floats, counted: Flags) -> Estimate:
        estimate = resampled.estimate(resampled.values(Ratio(values, counted)))
        return estimate if counted.any() else replace(estimate, low=float("nan"), high=float("nan"))

    answered = chosen.astype(np.float64)
    return Checked(
        mean(answered, every),
        mean(cases.losses, chosen),
        mean(answered, cases.answerable),
        mean(1 - answered, ~cases.answerable),
        mean(worth, every),
        mean(worth - without, every),
    )
