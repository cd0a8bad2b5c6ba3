"""What a verdict owes to passages without a judgement: its bounds, and gold that was found with one search."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.arrays import Flags, Floats, Ints
from rag.core.corpus import Corpus
from rag.core.figures import amount, figure
from rag.core.rankings import Rankings
from rag.core.roles import Judgements, RankingMetric
from rag.core.types import Span
from rag.evaluation.data.golden import Golden
from rag.evaluation.gold_matching import Judged
from rag.evaluation.scoring import parse_column
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.evaluation.unjudged import NONE, Ranked, Swing, swing
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Winner

RIVALS = 8
"""The most trials that the recommended one is compared with, best first."""
MISSING = 5.0
"""The gold below the last rank with gold, expected and absent, from which one search is thought to have found all of it."""
ONE_SEARCH = "It is the best by mean, and the questions cannot show more."


@dataclass(frozen=True)
class Bounds:
    """The difference of the recommended trial and a rival, if labels of unjudged passages favour the one or the other.

    `labels` is the least number of labels after which it is not better or, with `shown`, not shown to be; None if none do it.
    """

    rival: str
    shown: bool
    low: float
    high: float
    labels: int | None


@dataclass(frozen=True)
class Holes:
    """The winner, which nothing is shown for where all gold comes from the search of the trial `one_search`; and remarks."""

    winner: Winner | None
    bounds: tuple[Bounds, ...] = ()
    one_search: str = ""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"one_search": self.one_search, "bounds": [asdict(each) for each in self.bounds]}


@dataclass
class Pooled:
    """The first passages of trials, with numbers that all trials share; `known` has the place of each number."""

    made: Plan
    store: Store
    objective: Objective
    golden: Golden
    known: dict[str | Span, int] = field(default_factory=dict)

    @cached_property
    def whole(self) -> Flags:
        """The questions whose gold is whole documents."""
        return np.array([all(isinstance(place, str) for place in each.places) for each in self.golden.examples], np.bool_)

    def ranked(self, trial: PlannedTrial) -> Ranked | None:
        """The rankings of a trial; None where the objective is more than metrics of ranks, or something is not stored."""
        config, stages, ends = trial.trial.config, self.made.stages, trial.ends
        if self.objective.measured:
            return None
        columns = [parse_column(term.column, config["k"]) for term in self.objective.terms]
        metrics = [self.made.graph.components.build(config["metric"][each.metric], "metric") for each in columns]
        entries = [self.store.read(stages[key].entry) for key in (ends.judge, ends.ranking, ends.corpus)]
        if any(each.unit != "ranks" for each in columns) or not all(isinstance(each, RankingMetric) for each in metrics):
            return None
        if not all(entries):
            return None
        judge, ranking, corpus = (each for each in entries if each)
        weights = [each.signed for each in self.objective.terms] if self.objective.summed else [self.objective.sign]
        parts = list(zip(weights, metrics, columns, strict=True))

        def value(judged: Judgements) -> Floats:
            return np.asarray(sum(weight * column.measure(metric, judged) for weight, metric, column in parts))

        judged, width = Judged.from_arrays(judge.arrays), max(each.size for each in columns)
        return Ranked(judged, self._passages(rankings_of(ranking), corpus_of(corpus, trial.golden), judged, width), value)

    def _passages(self, rankings: Rankings, corpus: Corpus, judged: Judged, width: int) -> Ints:
        table = np.full((len(judged), min(width, judged.judged.shape[1])), NONE)
        names = [document.doc_id for document in corpus.documents]
        for question, whole in enumerate(self.whole.tolist()):
            documents: dict[str, int] = {}
            for position, (rank, _) in rankings.placed(question).items():
                doc_id = names[int(corpus.doc[position])]
                rank = documents.setdefault(doc_id, len(documents) + 1) if whole else rank
                if rank > table.shape[1]:
                    break
                if table[question, rank - 1] == NONE:
                    place = doc_id if whole else Span(doc_id, int(corpus.start[position]), int(corpus.end[position]))
                    table[question, rank - 1] = self.known.setdefault(place, len(self.known))
        return table

    def swings(self, taken: str, others: Iterable[str]) -> dict[str, Swing]:
        """What labels do to the differences of a trial from others, by their ids; trials with its rankings are left out."""
        trials = {trial.trial_id: trial for trial in self.made.trials}
        first, found = self.ranked(trials[taken]), dict[str, Swing]()
        for name in others if first else ():
            second = self.ranked(trials[name]) if trials[name].ends.judge != trials[taken].ends.judge else None
            if first and second:
                found[name] = swing(first, second, self.whole)
        return found


def find_holes(winner: Winner | None, objective: Objective, made: Plan, store: Store) -> Holes:
    """The bounds of a verdict and its gold's origin, as remarks; a winner for whom the gold can show nothing shows nothing."""
    if winner is None:
        return Holes(None)
    pooled = Pooled(made, store, objective, made.trials[0].golden)
    taken, admitted = winner.of(winner.recommended), [each for each in winner.standings if each.admitted]
    if found := _one_search(made, [each.trial_id for each in admitted], store, pooled.golden):
        standings = tuple(replace(each, tied=each.admitted) for each in winner.standings)
        tied = replace(winner, standings=standings, tied=tuple(each.trial_id for each in admitted), why=ONE_SEARCH)
        return Holes(tied, one_search=found[0], notes=(found[1],))
    others = [each for each in admitted if each.trial_id != taken.trial_id]
    near = [each for each in others if each.tied][:1] + [each for each in others if not each.tied]
    swings = pooled.swings(taken.trial_id, [each.trial_id for each in near[:RIVALS]])
    cluster = cluster_numbers(pooled.golden.examples)
    bounds = []
    for each in (each for each in near if each.trial_id in swings):
        found_swing = swings[each.trial_id]
        labels = found_swing.to_lose(cluster, not each.tied)
        bounds.append(Bounds(each.name, not each.tied, *found_swing.ends, labels))
    return Holes(winner, tuple(bounds), notes=tuple(_said(taken.name, bounds)))


def _said(taken: str, bounds: Sequence[Bounds]) -> Iterable[str]:
    shown = [each for each in bounds if each.shown]
    weak = min((each for each in shown if each.labels), key=lambda each: each.labels or 0, default=None)
    if shown and weak is None:
        yield f"The lead of {taken} over {amount(len(shown), 'trial')} holds whatever the passages without a judgement are."
    for each in (weak, *(each for each in bounds if not each.shown)):
        if each and each.labels:
            ends = f"{figure(each.low, signed=True)} to {figure(each.high, signed=True)}"
            what = f"undo what is shown against {each.rival}" if each.shown else f"put {each.rival} level with {taken}"
            yield f"{amount(each.labels, 'label')} of passages without a judgement would {what} (difference {ends})."


def _one_search(made: Plan, admitted: Sequence[str], store: Store, golden: Golden) -> tuple[str, str] | None:
    """The trial whose search found all gold, and a sentence; None where no search did, or all trials share it."""
    searches = {each.searches for each in golden.examples if each.has_gold}
    if len(searches) == 1 and len(name := next(iter(searches))) == 1:
        return name[0], f"The gold was found with one search, {name[0]}, and {UNFAIR}"
    found: dict[str, int] = {}
    for trial in made.trials:
        entry = store.read(made.stages[trial.ends.judge].entry) if trial.trial_id in admitted else None
        if entry is not None:
            found[trial.trial.name] = cut_off(Judged.from_arrays(entry.arrays).group_ranks)
    name_of = next((name for name, rank in found.items() if rank), "")
    if not name_of or all(found.values()):
        return None
    return name_of, f"All gold is among the first {found[name_of]} of {name_of}: it was found with that search, and {UNFAIR}"


UNFAIR = "what it missed counts as wrong for the others, so that no trial is shown to be better. See rag data pool."


def cut_off(group_ranks: NDArray[np.int32]) -> int:
    """The last rank of gold, if all gold is found and a ranking that goes on would have more of it below; else 0.

    From its first to its last rank the number of gold places falls by about the same factor with each rank. What this leaves
    below the last rank is expected; MISSING or more of it cannot be missing by chance (p < .01).
    """
    ranks = group_ranks[group_ranks >= 0]
    last = int(ranks.max(initial=0))
    if last < 2 or not ranks.all():
        return 0
    first, end = (int((ranks == rank).sum()) for rank in (1, last))
    factor = min((end / max(first, 1)) ** (1 / (last - 1)), 0.99)
    return last if end * factor / (1 - factor) >= MISSING else 0
