"""What all ranking metrics do: read a ranking up to a cut, and divide."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag.core.roles import Judgements


def satisfied_groups(judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which groups are satisfied at a rank up to the cut, shape (questions, groups)."""
    return (judged.group_ranks > 0) & (judged.group_ranks <= cut[:, None])


def counted(flags: NDArray[np.bool_], cut: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the first `cut` columns of each row are true."""
    counts: NDArray[np.int64] = (flags & (np.arange(1, flags.shape[1] + 1) <= cut[:, None])).sum(axis=1)
    return counts


def reached(totals: NDArray[np.int64], cut: NDArray[np.int64]) -> NDArray[np.int64]:
    """The running total at the cut: 0 for a cut of 0, the last one for a cut behind the end."""
    place = np.clip(cut, 1, totals.shape[1]) - 1
    return np.where(cut > 0, totals[np.arange(len(totals)), place], 0)


def ratio(part: ArrayLike, whole: ArrayLike, applies: NDArray[np.bool_]) -> NDArray[np.float64]:
    """`part / whole`, 0 where `whole` is 0, and NaN where the metric does not apply."""
    bottom = np.asarray(whole, np.float64)
    shares = np.asarray(part, np.float64) / np.where(bottom == 0, 1.0, bottom)
    return np.where(applies, np.where(bottom == 0, 0.0, shares), np.nan)


def by_rank(judged: Judgements, cut: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The groups satisfied up to the cut as (effective rank, grade), both of shape (questions, groups).

    Groups are sorted by (rank, -grade), and the j-th of them counts at rank max(its rank, j): what one chunk satisfies at once
    is worth no more than an ideal ranking of as many documents. An effective rank of 0 marks a group that does not count.
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
