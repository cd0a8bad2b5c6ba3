"""Whether a holdout confirms the choice by tune, and what both halves of the questions say together. Arithmetic only."""

from collections.abc import Sequence

import numpy as np

from rag.core.figures import figure, with_interval
from rag.evaluation.statistics.paired import family
from rag.execution.sweep.selection.bootstrap import SAME
from rag.execution.sweep.selection.decision import Decision
from rag.execution.sweep.selection.winner import Entrant, Floats, Holdout, Ints, Mean


def contradicted(
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
