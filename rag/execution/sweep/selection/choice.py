"""The race of trials and a decision → the winner. Arithmetic only."""

from collections.abc import Mapping, Sequence

import numpy as np

from rag.core.arrays import Floats, Ints
from rag.core.figures import figure, with_interval
from rag.evaluation.statistics import out_of_bag, pareto
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import by_cluster, effective, standard_error
from rag.evaluation.statistics.summary import interval
from rag.execution.sweep.selection import reasons
from rag.execution.sweep.selection.bootstrap import SAME
from rag.execution.sweep.selection.decision import Decision
from rag.execution.sweep.selection.race import Race
from rag.execution.sweep.selection.winner import Entrant, Holdout, Mean, Standing, Winner

ALIKE = "All trials have the same scores: what the choice is worth cannot be estimated."


def choose(
    contest: Race,
    decision: Decision,
    cluster: Ints,
    holdout: Holdout | None = None,
    sign: float = 1.0,
    others: Sequence[Standing] = (),
    span: tuple[float, float] = (0.0, 1.0),
    elsewhere: Sequence[Floats] = (),
) -> Winner:
    """The winner of a race among admitted entrants; `cluster` numbers the cluster of each question from 0.

    A trial is tied unless another one is shown to be better (`contest.plausible`). The tied set holds the best trial in at
    least 95 of 100 sweeps; it need not hold every trial that is as good. The winner is the trial that the decision takes. Where
    the holdout contradicts it (`contradiction`), the best of all questions is recommended. `sign` and `span` are
    those of `rag.execution.sweep.objective.Objective`, `others` are the trials that are not admitted, `elsewhere` the
    values of trials of other sweeps.
    """
    taken, most = decision.taken, span[1] - span[0]
    contradicted = contradiction(contest.entrants, decision, cluster, holdout, sign, most) if holdout else None
    recommended = contradicted[0] if contradicted else taken
    why = reasons.why(contest, decision) if recommended is taken else "It is the best of tune and holdout together."
    worth, among, before = _expected(contest.entrants, decision, cluster, elsewhere, sign, span)
    beaten = _dominated(contest.entrants, cluster)
    standings = (_standing(each, contest, decision, beaten, holdout, cluster, (sign, span)) for each in contest.entrants)
    return Winner(
        best=decision.best.trial_id,
        recommended=recommended.trial_id,
        tied=tuple(each.trial_id for each in contest.tied),
        why=f"{why} {ALIKE}" if decision.enough and among > 1 and not worth else why,
        standings=(*standings, *others),
        uses=holdout.uses if holdout else 0,
        family=contest.differences.size if contest.differences else 0,
        holdout=bool(holdout and holdout.values),
        rule=decision.rule,
        unsettled=decision.unsettled,
        enough=decision.enough,
        contradiction=contradicted[1] if contradicted else "",
        expected=None if contradicted else worth,
        among=among,
        before=before,
    )


def _expected(
    entrants: Sequence[Entrant],
    decision: Decision,
    cluster: Ints,
    elsewhere: Sequence[Floats],
    sign: float,
    span: tuple[float, float],
) -> tuple[Mean | None, int, int]:
    """What the decision is worth out of bag; the number of trials in each draw, and of those from elsewhere.

    Trials from elsewhere that are better than the best of these had no part in this choice. The others are in each draw, at the
    price of the taken trial. A draw takes the best by mean, or by worth where there are prices. It takes the cheaper trial that
    was taken where that is as near to the best there as the rule needs, with the width of the interval on all questions; other
    cheaper trials are never taken in its place.
    """
    if not decision.enough or any(one.values is None for one in entrants):
        return None, 0, 0
    own = np.stack([np.asarray(one.values) for one in entrants], axis=1)
    place, means = next(row for row, one in enumerate(entrants) if one is decision.taken), np.nanmean(own, axis=0)
    worth = np.array([decision.worth.get(one.trial_id, mean) for one, mean in zip(entrants, means, strict=True)])
    prices, known = np.nan_to_num(means - worth, nan=np.inf), ~np.isnan(own).any(axis=1)
    most = np.nanmax(worth) + prices[place] + SAME
    before = [one[known] for one in elsewhere if np.mean(one[known]) <= most]
    values, counted = np.column_stack([own[known], *before]), (len(entrants) + len(before), len(before))
    if not (values - values[:, :1]).any():
        return None, *counted
    slack = decision.allowed + decision.lowest + means.max() - means[place] if decision.allowed and not decision.worth else 0.0
    prices = np.r_[prices, np.full(len(before), prices[place])]
    mean, *ends = (sign * end for end in out_of_bag.estimate(values, cluster[known], prices, place, float(slack), span))
    return Mean(mean, *sorted(ends)), *counted


def _dominated(entrants: Sequence[Entrant], cluster: Ints) -> dict[str, str]:
    candidates = [
        pareto.Candidate(each.trial_id, quality, each.seconds, each.latency, each.cost, each.size, each.read)
        for each in entrants
        if (quality := each.quality if each.values is None else each.values) is not None
    ]
    return pareto.dominated(candidates, cluster)


def _standing(
    entrant: Entrant,
    contest: Race,
    decision: Decision,
    beaten: Mapping[str, str],
    holdout: Holdout | None,
    cluster: Ints,
    scale: tuple[float, tuple[float, float]],
) -> Standing:
    again = holdout.values.get(entrant.trial_id) if holdout else None
    measured = _mean(again, holdout.cluster, *scale) if holdout and again is not None else None
    name = entrant.trial_id
    is_tied, behind = any(entrant is other for other in contest.tied), contest.behind(name)
    by, p_best = beaten.get(name, ""), decision.shares.get(name)
    return Standing(name, entrant.name, entrant.reached, True, is_tied, behind, measured, by, p_best=p_best)


def _mean(values: Floats, cluster: Ints, sign: float, span: tuple[float, float]) -> Mean:
    """The mean over the questions that have a value, with its cluster-robust interval."""
    known = ~np.isnan(values[:, None])
    groups = int(cluster.max(initial=-1)) + 1
    sums = by_cluster(np.where(known, values[:, None], 0.0), cluster, groups)
    counts = by_cluster(known.astype(np.float64), cluster, groups)
    mean = np.where(known.any(), sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1), np.nan)
    ends = interval(mean, standard_error(sums, counts), effective(counts), span)
    return Mean(sign * float(mean[0]), *sorted(sign * float(end[0]) for end in ends))


def contradiction(
    entrants: Sequence[Entrant], decision: Decision, cluster: Ints, holdout: Holdout, sign: float, most: float
) -> tuple[Entrant, str] | None:
    """The best trial of both halves and a sentence on them, where the holdout contradicts a decision; None where it does not.

    It contradicts the best trial by mean if another one has a higher mean there; and a cheaper one if it is shown to be worse
    there than the best by more than the decision allows (95 %).
    """
    again = {one.trial_id: values for one in entrants if (values := holdout.values.get(one.trial_id)) is not None}
    means = {trial_id: float(np.nanmean(values)) for trial_id, values in again.items() if not np.isnan(values).all()}
    best, taken = decision.best, decision.taken
    if not decision.enough or not {best.trial_id, taken.trial_id} <= means.keys():
        return None
    gap = _tested(again[taken.trial_id] - again[best.trial_id], holdout.cluster, most)
    if not (max(means.values()) > means[best.trial_id] + SAME if taken is best else gap.high < -decision.allowed):
        return None
    known = [one for one in entrants if one.trial_id in means]
    first, rank = max(known, key=lambda one: means[one.trial_id]), sum(mean > means[taken.trial_id] for mean in means.values())
    both = {one.trial_id: np.r_[np.asarray(one.values), again[one.trial_id]] for one in known}
    known.sort(key=lambda one: -float(np.nanmean(both[one.trial_id])))
    other = taken if known[0] is not taken else known[1]
    apart = both[known[0].trial_id] - both[other.trial_id]
    lead = with_interval(_tested(apart, np.r_[cluster, holdout.cluster + cluster.max() + 1], most), signed=True)
    there = " against ".join(figure(sign * means[one.trial_id]) for one in (taken, first))
    place = "last" if rank + 1 == len(means) else f"number {rank + 1}"
    there = f"{taken.name} is {place} of {len(means)} there, {there} of {first.name}"
    together = " against ".join(figure(sign * float(np.nanmean(both[one.trial_id]))) for one in (known[0], other))
    said = f"on both together {known[0].name} is best, {together} of {other.name}, {lead}"
    return known[0], f"The holdout does not confirm the choice by tune: {there}; {said}."


def _tested(differences: Floats, cluster: Ints, most: float) -> Mean:
    tested = family(differences[:, None], cluster, most)
    return Mean(float(tested.mean[0]), float(tested.low[0]), float(tested.high[0]))
