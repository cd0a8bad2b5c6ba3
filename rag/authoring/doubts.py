"""Labels that are likely to be wrong, ordered by what they decide between the two best trials.

Confident learning (Northcutt, Jiang and Chuang, JAIR 70, 2021): the relevance of a place is predicted from its ranks in all
searches, with weights from the labels of other questions; the doubt of a label is the predicted chance of the other one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.components.judges.mix import fitted, mixed
from rag.core.arrays import Flags, Floats
from rag.core.corpus import Corpus
from rag.core.errors import DataError
from rag.core.rankings import Rankings
from rag.core.types import Anchor, Evidence, Example, Place
from rag.evaluation.gold_matching import Judged, judge
from rag.evaluation.gold_table import gold_table
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.evaluation.unjudged import EPS, NONE, Ranked
from rag.execution.graph.plan import PlannedTrial
from rag.execution.sweep.holes import Pool

FOLDS = 5
"""Parts of the clusters; each is predicted with weights from the labels of the others."""
SIGNS = {"mean": -1, "least": -1, "most": -1}
"""The logarithms of the ranks of a place, over the searches: less of them cannot make it less relevant."""
AT_ONCE = 4_000
"""Places that are looked for in the rankings at once."""
UNSEEN = 1.5
"""The rank of a place that a search does not find, as a share of the length of its rankings."""


@dataclass(frozen=True)
class Label:
    """A place and whether the set calls it relevant: None without a label.

    `doubt` is the chance that the label is wrong, `change` what the other label changes in the difference of the question
    between the two best trials.
    """

    question: int
    place: Place
    relevant: bool | None
    doubt: float = 0.0
    change: float = 0.0


@dataclass(frozen=True)
class Search:
    """A trial that ran: its first passages and its value, its rankings and their chunks."""

    trial: PlannedTrial
    ranked: Ranked
    rankings: Rankings
    corpus: Corpus

    @classmethod
    def of(cls, pool: Pool, trial: PlannedTrial) -> "Search | None":
        """The search of a trial; None if it has not run, or if the objective is more than ranks."""
        ranked, found = pool.ranked(trial), pool.ranking(trial)
        return cls(trial, ranked, *found) if ranked and found else None

    def judged(self, labels: Sequence[Label], examples: Sequence[Example]) -> Iterator[Judged]:
        """The rankings of the labels' questions judged by these examples, part by part."""
        for first in range(0, len(labels), AT_ONCE):
            own = slice(first, first + AT_ONCE)
            table = gold_table(self.corpus, examples[own], self.trial.trial.config["coverage"])
            yield judge(self.rankings.take(np.array([each.question for each in labels[own]])), table)

    def ranks(self, labels: Sequence[Label], examples: Sequence[Example]) -> Floats:
        """The ranks of places that are the only gold of these examples."""
        found = np.concatenate([part.group_ranks[:, 0] for part in self.judged(labels, examples)])
        return np.where(found > 0, found, UNSEEN * self.rankings.positions.shape[1])


def doubted(pool: Pool, best: Sequence[str]) -> list[Label]:
    """Labels that change the difference between the two best trials with other rankings, by doubt × change, greatest first.

    `best` are the finished trials, best first. Labels are gold, and passages among the first ranks of any trial that are judged
    as not relevant; passages without a label count as not relevant for the weights. DataError without two such trials, or
    without labels of both kinds.
    """
    several: dict[str, PlannedTrial] = {}
    for name in best:
        several.setdefault(pool.trials[name].ends.judge, pool.trials[name])
    searches = [found for trial in several.values() if (found := Search.of(pool, trial))]
    rivals = [each for each in searches[1:] if not np.array_equal(each.ranked.passages, searches[0].ranked.passages)]
    labels = list(_labels(pool, [each.ranked for each in searches])) if rivals else []
    known = np.array([bool(each.relevant) for each in labels], np.bool_)
    if not known.any() or known.all():
        what = "has no two trials with other rankings, or no labels of both kinds, for an objective of ranks"
        raise DataError(f"experiment {pool.made.experiment.name}", what, "sweep two searches or more over a set with gold")
    doubts = _doubts(pool, searches, labels, known)
    listed = np.flatnonzero([each.relevant is not None for each in labels])
    changes = _changes(pool, searches[0], rivals[0], [labels[row] for row in listed])
    weighed = zip(listed.tolist(), changes.tolist(), strict=True)
    moving = [replace(labels[row], doubt=float(doubts[row]), change=change) for row, change in weighed if change > EPS]
    return sorted(moving, key=lambda each: -each.doubt * each.change)


def _labels(pool: Pool, ranked: Sequence[Ranked]) -> Iterator[Label]:
    """All gold, and the other passages among the first ranks of the trials."""
    for question, example in enumerate(pool.examples):
        gold = (place for group in example.ranked for place in group.alternatives)
        yield from (Label(question, place, True) for place in gold if not isinstance(place, Anchor) or place.spans)
    other: dict[tuple[int, int], bool] = {}
    for each in ranked:
        width = each.passages.shape[1]
        there = (each.passages != NONE) & ~each.judged.relevant[:, :width] & each.judged.answerable[:, None]
        for question, column in np.argwhere(there).tolist():
            number = int(each.passages[question, column])
            other[question, number] = other.get((question, number), False) or bool(each.judged.judged[question, column])
    places = list(pool.known)
    yield from (
        Label(question, places[number], False if is_judged else None) for (question, number), is_judged in other.items()
    )


def _doubts(pool: Pool, searches: Sequence[Search], labels: Sequence[Label], known: Flags) -> Floats:
    """The predicted chance of the other label, by labels of other clusters."""
    different = {each.trial.ends.ranking: each for each in searches}.values()
    alone = [Example(pool.examples[each.question].query, (Evidence((each.place,)),)) for each in labels]
    ranks = np.log(np.stack([each.ranks(labels, alone) for each in different]))
    measures = np.stack([ranks.mean(axis=0), ranks.min(axis=0), ranks.max(axis=0)], axis=1)
    fold = cluster_numbers(pool.examples)[[each.question for each in labels]] % FOLDS
    relevance = np.zeros(len(labels))
    for number in range(FOLDS):
        rest, own = fold != number, fold == number
        if own.any():
            weights = fitted(measures[rest], known[rest], SIGNS, np.ones(int(rest.sum())))
            relevance[own] = mixed(measures[own], list(SIGNS), weights)
    return np.where(known, 1 - relevance, relevance)


def _changes(pool: Pool, first: Search, second: Search, labels: Sequence[Label]) -> Floats:
    """What the other label changes in the difference of the question; a question without gold has no difference."""
    turned = [_turned(pool.examples[each.question], each, bool(pool.whole[each.question])) for each in labels]
    parts = zip(first.judged(labels, turned), second.judged(labels, turned), strict=True)
    values = np.concatenate([first.ranked.value(one) - second.ranked.value(other) for one, other in parts])
    base = first.ranked.value(first.ranked.judged) - second.ranked.value(second.ranked.judged)
    moved: Floats = np.abs(np.nan_to_num(values) - np.nan_to_num(base[[each.question for each in labels]]))
    return moved


def _turned(example: Example, label: Label, whole: bool) -> Example:
    """The question with the other label: a relevant place is gold of its own, or an alternative of the first group."""
    groups = example.evidence
    if label.relevant:
        left = (replace(group, alternatives=tuple(set(group.alternatives) - {label.place})) for group in groups)
        return replace(example, evidence=tuple(group for group in left if group.alternatives))
    if whole:
        return replace(example, evidence=(*groups, Evidence((label.place,))))
    first, *others = example.ranked
    return replace(example, evidence=(replace(first, alternatives=(*first.alternatives, label.place)), *others))
