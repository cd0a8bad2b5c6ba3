"""Common arithmetic of ranking metrics: counts up to a cut, and ratios.

All arrays have one row per question. A score is NaN where a metric does not apply, such as without gold.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag.core.roles import Judgements

Cuts = NDArray[np.int64]
"""The rank up to which each question is scored, shape (questions,)."""
Scores = NDArray[np.float64]
"""One value in [0, 1] or NaN per question, shape (questions,)."""


def satisfied_groups(judged: Judgements, cut: Cuts) -> NDArray[np.bool_]:
    """True for groups that are satisfied at a rank up to the cut, shape (questions, groups)."""
    return (judged.group_ranks > 0) & (judged.group_ranks <= cut[:, None])


def count_up_to(flags: NDArray[np.bool_], cut: Cuts) -> NDArray[np.int64]:
    """The number of true values in the first `cut` columns of each row."""
    counts: NDArray[np.int64] = (flags & (np.arange(1, flags.shape[1] + 1) <= cut[:, None])).sum(axis=1)
    return counts


def total_at(totals: NDArray[np.int64], cut: Cuts) -> NDArray[np.int64]:
    """The running total at the cut: 0 for a cut of 0, the last total for a cut beyond the end."""
    place = np.clip(cut, 1, totals.shape[1]) - 1
    return np.where(cut > 0, totals[np.arange(len(totals)), place], 0)


def ratio(part: ArrayLike, whole: ArrayLike, applies: NDArray[np.bool_]) -> Scores:
    """`part / whole`, 0 if `whole` is 0, and NaN if the metric does not apply."""
    bottom = np.asarray(whole, np.float64)
    shares = np.asarray(part, np.float64) / np.where(bottom == 0, 1.0, bottom)
    return np.where(applies, np.where(bottom == 0, 0.0, shares), np.nan)


def by_rank(judged: Judgements, cut: Cuts) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The groups satisfied up to the cut as (effective rank, grade), both of shape (questions, groups).

    Groups are sorted by (rank, -grade). The effective rank of the j-th group is max(its rank, j), so that one chunk that
    satisfies several groups scores no better than an ideal ranking of as many documents. 0 marks a group that does not count.
    """
    late = np.iinfo(np.int32).max
    rank = np.where(judged.group_ranks > 0, judged.group_ranks, late).astype(np.int64)
    if rank.shape[1] > 1:
        order = np.lexsort((-judged.grades, rank), axis=-1)
        rank, grade = np.take_along_axis(rank, order, 1), np.take_along_axis(judged.grades, order, 1)
    else:
        grade = judged.grades
    effective = np.maximum(rank, np.arange(1, rank.shape[1] + 1))
    return np.where(rank <= cut[:, None], effective, 0), grade
