"""The least and the greatest difference of two trials, over all labels of the unjudged passages among their first ranks."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from rag.core.arrays import Flags, Floats, Ints
from rag.core.roles import Judgements
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import by_cluster, sign_flip

NONE = -1
"""The number of no passage."""
EPS = 1e-12


@dataclass(frozen=True)
class Ranked:
    """The rankings of one trial: `passages` [n, width] numbers the passages by rank, the same in all trials; NONE for none.

    `value` is the objective per question, higher is better.
    """

    judged: Judgements
    passages: Ints
    value: Callable[[Judgements], Floats]


@dataclass(frozen=True)
class Swing:
    """What labels "relevant" for unjudged passages do to the difference of two trials.

    `base` [n] is the difference per question. `passages` [n, m] are the unjudged ones, `alone` what each label by itself
    changes, `falls` by how much the difference sinks with each further label, `rises` the same upwards.
    """

    base: Floats
    passages: Ints
    alone: Floats
    falls: Floats
    rises: Floats

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest mean difference."""
        total, known = float(np.nansum(self.base)), max(int((~np.isnan(self.base)).sum()), 1)
        return (total - float(self.falls.sum())) / known, (total + float(self.rises.sum())) / known

    def to_lose(self, cluster: Ints, shown: bool) -> int | None:
        """The least labels after which the first trial is not better, or with `shown` not shown to be; None if there are none.

        Exact where each further label of a question changes less than the one before: recall and nDCG of whole documents.
        """
        largest = np.argsort(-self.falls, axis=None, kind="stable")

        def lost(labels: int) -> bool:
            taken = np.isin(np.arange(self.falls.size), largest[:labels]).reshape(self.falls.shape)
            left = self.base - np.where(taken, self.falls, 0.0).sum(axis=1)
            sums = by_cluster(np.nan_to_num(left)[:, None], cluster, int(cluster.max(initial=-1)) + 1)
            return bool(np.nansum(left) <= EPS or (shown and sign_flip(sums)[0][0] > ALPHA))

        most = int((self.falls > EPS).sum())
        return bisect_left(range(most), True, key=lost) if lost(most) else None


def swing(first: Ranked, second: Ranked, whole: Flags) -> Swing:
    """What labels can do to first - second; `whole` marks questions whose gold is whole documents.

    There a relevant passage is gold of its own; elsewhere it is an alternative of one of the groups. Passages that only one of
    the two has among its first ranks are judged apart from those of the other, also where they overlap.
    """
    passages, ranks, group = _candidates(first, second, whole)
    base = first.value(first.judged) - second.value(second.judged)

    def change(on: Flags) -> Floats:
        rows, moved = np.flatnonzero(on.any(axis=1)), np.zeros(len(on))
        columns = np.flatnonzero(on.any(axis=0))
        values = []
        for one, own in zip((first, second), ranks, strict=True):
            part = replace(one.judged, **{each.name: getattr(one.judged, each.name)[rows] for each in fields(Judgements)})
            part_of = np.ix_(rows, columns)
            values.append(one.value(labelled(part, own[part_of], group[part_of], on[part_of])))
        moved[rows] = np.nan_to_num(values[0] - values[1] - base[rows])
        return moved

    there = passages != NONE
    alone = np.zeros(passages.shape)
    for column in range(passages.shape[1]):
        alone[:, column] = change(there & (np.arange(passages.shape[1]) == column))

    def path(gain: Floats, sign: float) -> Floats:
        order, useful = np.argsort(np.argsort(-gain, axis=1, kind="stable"), axis=1), (gain > EPS).sum(axis=1)
        taken = (there & (order < labels) & (useful >= labels)[:, None] for labels in range(1, int(useful.max(initial=0)) + 1))
        steps = [np.zeros(len(gain)), *(sign * change(each) for each in taken)]
        further: Floats = np.diff(np.maximum.accumulate(np.stack(steps, axis=1), axis=1), axis=1)
        return further

    return Swing(base, passages, alone, path(-alone, -1.0), path(alone, 1.0))


def _candidates(first: Ranked, second: Ranked, whole: Flags) -> tuple[Ints, tuple[Ints, Ints], Ints]:
    """The unjudged passages of each question, their ranks in both trials (0 for none), and the groups that they may satisfy.

    A passage has one column for each group, or one for all where it is gold of its own (group NONE).
    """
    columns = []
    for one, other, again in ((first, second, True), (second, first, False)):
        width = one.passages.shape[1]
        same = one.passages[:, :, None] == other.passages[:, None, :]
        hole = (one.passages != NONE) & ~one.judged.judged[:, :width] & one.judged.answerable[:, None]
        hole &= again | ~same.any(axis=2)
        elsewhere = np.where(same.any(axis=2), same.argmax(axis=2) + 1, 0)
        own = np.broadcast_to(np.arange(1, width + 1), hole.shape)
        columns.append((np.where(hole, one.passages, NONE), *((own, elsewhere) if again else (elsewhere, own))))
    passages, *ranks = (np.concatenate(parts, axis=1) for parts in zip(*columns, strict=True))
    groups = (first.judged.group_ranks >= 0).sum(axis=1)
    most = max(1, int(groups[~whole].max(initial=0)))
    number = np.repeat(np.arange(most), passages.shape[1])
    kept = np.where(whole[:, None], number == 0, number < groups[:, None])
    passages, before, after = (np.tile(part, most) for part in (passages, *ranks))
    return np.where(kept, passages, NONE), (before, after), np.where(whole[:, None], NONE, number)


def labelled(judged: Judgements, ranks: Ints, group: Ints, on: Flags) -> Judgements:
    """The judgements with passages labelled relevant: those `on`, at `ranks` (0 for none); arrays of shape (n, m)."""
    own = on & (group == NONE)
    group_ranks = np.concatenate([judged.group_ranks, np.where(own, ranks, -1)], axis=1).astype(np.int32)
    relevant = judged.relevant.copy()
    for column in np.flatnonzero(on.any(axis=0)).tolist():
        rows = np.flatnonzero(on[:, column] & (ranks[:, column] > 0))
        relevant[rows, ranks[rows, column] - 1] = True
        rows = rows[group[rows, column] != NONE]
        rank, place = ranks[rows, column], (rows, group[rows, column])
        group_ranks[place] = np.where(group_ranks[place] > 0, np.minimum(group_ranks[place], rank), rank)
    grades = np.concatenate([judged.grades, own * 1.0], axis=1)
    return replace(judged, group_ranks=group_ranks, grades=grades, relevant=relevant)
