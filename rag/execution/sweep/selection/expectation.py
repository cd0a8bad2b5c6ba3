"""What a decision is worth on new questions: the mean of its choice out of bag. Arithmetic only."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rag.evaluation.statistics import out_of_bag
from rag.execution.sweep.selection.bootstrap import SAME
from rag.execution.sweep.selection.decision import Decision
from rag.execution.sweep.selection.winner import Entrant, Expectation, Floats, Ints, Mean, Winner

ALIKE = "All trials have the same scores: what the choice is worth cannot be estimated."


def expected(
    winner: Winner,
    entrants: Sequence[Entrant],
    decision: Decision,
    cluster: Ints,
    others: Sequence[Floats],
    sign: float,
    span: tuple[float, float],
) -> Winner:
    """The winner with what it is worth; without that for too few questions, one trial, and where the holdout took another one.

    `others` are values of trials of other sweeps. Those that are better than the best of these had no part in this choice; the
    rest is in each draw, at the price of the taken trial. A draw takes the best by mean, or by worth where there are prices. A
    cheaper trial is taken in a draw where it is as near to the best there as the rule needs, with the width of the interval on
    all questions; that other cheaper trials might be taken is left out.
    """
    if not decision.enough or winner.recommended != decision.taken.trial_id or any(one.values is None for one in entrants):
        return winner
    own = np.stack([np.asarray(one.values, np.float64) for one in entrants], axis=1)
    place = next(row for row, one in enumerate(entrants) if one is decision.taken)
    means = np.nanmean(own, axis=0)
    worth = np.array([decision.worth.get(one.trial_id, mean) for one, mean in zip(entrants, means, strict=True)])
    prices = means - worth
    most = float(np.nanmax(worth) + prices[place])
    behind = [one for one in others if not np.isnan(one).all() and np.nanmean(one) <= most + SAME]
    values = np.column_stack([own, *behind])
    if values.shape[1] == 1:
        return winner
    if not np.nan_to_num(values - values[:, :1]).any():
        return replace(winner, unknown=ALIKE)
    gap = float(means[place] - means.max())
    slack = decision.allowed + decision.lowest - gap if decision.allowed and not decision.worth else 0.0
    preference = out_of_bag.Preference(np.r_[prices, np.full(len(behind), prices[place])], place, slack)
    found = out_of_bag.estimate(values, cluster, preference, span)
    if found is None:
        return winner
    low, high = sorted(sign * end for end in found[1:])
    return replace(winner, expected=Expectation(Mean(sign * found[0], low, high), values.shape[1], len(behind)))
