"""The race of trials and a decision → the winner. Arithmetic only."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rag.evaluation.statistics import pareto, student
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import by_cluster, effective, standard_error
from rag.evaluation.statistics.summary import interval
from rag.execution.sweep.selection import reasons
from rag.execution.sweep.selection.decision import Decision
from rag.execution.sweep.selection.race import Race
from rag.execution.sweep.selection.winner import Entrant, Floats, Holdout, Ints, Mean, Standing, Winner

TWO_SIDED = 0.975


def choose(
    contest: Race,
    decision: Decision,
    cluster: Ints,
    holdout: Holdout | None = None,
    sign: float = 1.0,
    others: Sequence[Standing] = (),
    span: tuple[float, float] = (0.0, 1.0),
) -> Winner:
    """The winner of a race among admitted entrants; `cluster` numbers the cluster of each question from 0.

    A trial is tied unless another one is shown to be better (`contest.plausible`). The tied set holds the best trial in at
    least 95 of 100 sweeps; it need not hold every trial that is as good. The winner is the trial that the decision takes. If
    the holdout, where only it is compared with the best by mean, shows it to be worse by more than the decision allows (95 %),
    the winner is the best by mean. `sign` and `span` are those of `rag.execution.sweep.objective.Objective`, `others` are the
    trials that are not admitted.
    """
    best, taken = decision.best, decision.taken
    difference = _difference(best.trial_id, taken.trial_id, holdout, span[1] - span[0])
    refuted = bool(difference and difference.high < -decision.allowed)
    why = reasons.refuted(decision, difference) if difference and refuted else reasons.why(contest, decision)
    recommended = best if refuted else taken
    beaten = _dominated(contest.entrants, cluster)
    standings = (_standing(each, contest, decision, beaten, holdout, cluster, (sign, span)) for each in contest.entrants)
    return Winner(
        best=best.trial_id,
        recommended=recommended.trial_id,
        tied=tuple(each.trial_id for each in contest.tied),
        why=why,
        standings=(*standings, *others),
        uses=holdout.uses if holdout else 0,
        family=contest.differences.size if contest.differences else 0,
        holdout=bool(holdout and holdout.values),
        difference=None if recommended is best else difference,
        rule=decision.rule,
        unsettled=decision.unsettled,
        enough=decision.enough,
    )


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
    sign, span = scale
    again = holdout.values.get(entrant.trial_id) if holdout else None
    measured = optimism = None
    if again is not None and holdout is not None and entrant.values is not None:
        mean, error, freedom = _mean(again, holdout.cluster)
        ends = interval(np.array([mean]), np.array([error]), np.array([freedom + 1]), span)
        measured = Mean(sign * mean, *sorted(sign * float(end[0]) for end in ends))
        optimism = _welch(_mean(entrant.values, cluster), (mean, error, freedom), span[1] - span[0])
    name = entrant.trial_id
    is_tied, behind = any(entrant is other for other in contest.tied), contest.behind(name)
    by, p_best = beaten.get(name, ""), decision.shares.get(name)
    return Standing(name, entrant.name, entrant.reached, True, is_tied, behind, measured, optimism, by, p_best=p_best)


def _mean(values: Floats, cluster: Ints) -> tuple[float, float, float]:
    """Mean, cluster-robust standard error and degrees of freedom over the questions that have a value."""
    kept = ~np.isnan(values)
    if not kept.any():
        return math.nan, math.nan, 1.0
    names = np.unique(cluster[kept], return_inverse=True)[1]
    groups = int(names.max()) + 1
    counts = by_cluster(np.ones((int(kept.sum()), 1)), names, groups)
    sums = by_cluster(values[kept][:, None], names, groups)
    mean = sums.sum(axis=0) / counts.sum(axis=0)
    return float(mean[0]), float(standard_error(sums, counts)[0]), float(effective(counts)[0]) - 1


def _welch(one: tuple[float, float, float], other: tuple[float, float, float], most: float) -> Mean:
    """The difference of two independent means, with Welch's degrees of freedom (Biometrika 34, 1947), at most `most`."""
    spread = one[1] ** 2 + other[1] ** 2
    parts = one[1] ** 4 / one[2] + other[1] ** 4 / other[2]
    difference = one[0] - other[0]
    if spread == 0 or spread != spread:
        return Mean(difference, *((difference, difference) if spread == 0 else ()))
    reach = float(student.quantile(spread**2 / parts, TWO_SIDED)) * math.sqrt(spread)
    return Mean(difference, max(difference - reach, -most), min(difference + reach, most))


def _difference(best: str, taken: str, holdout: Holdout | None, most: float) -> Mean | None:
    if holdout is None or best == taken or not {best, taken} <= holdout.values.keys():
        return None
    tested = family((holdout.values[taken] - holdout.values[best])[:, None], holdout.cluster, most)
    return Mean(float(tested.mean[0]), float(tested.low[0]), float(tested.high[0]))
