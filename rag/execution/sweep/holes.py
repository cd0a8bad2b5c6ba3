"""What a verdict owes to passages without a judgement: its bounds, and gold that was found with one search."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.arrays import Floats
from rag.core.corpus import Corpus
from rag.core.figures import amount, figure
from rag.core.rankings import Rankings
from rag.core.roles import Judgements
from rag.core.types import Span
from rag.evaluation.gold_matching import Judged
from rag.evaluation.scoring import parse_column
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.evaluation.unjudged import NONE, Ranked, Swing, swing
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Winner

RIVALS = 2
"""The most trials shown to be worse that the recommended one is compared with, best first."""
LEADERS = 5
"""The best trials that are looked at for a search that found all gold."""
LEAST = 5
"""The gold at the last rank, and expected below it, from which a search is thought to have found all gold itself."""
ONE_SEARCH = "It is the best by mean, and the questions cannot show more."
UNSAID = "Whether passages without a judgement would change this cannot be said: the objective is in characters."
UNFAIR = "what it missed counts as wrong for the others, so that no trial is shown to be better. See rag data pool."


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


@dataclass
class Pool:
    """The first passages of trials, with numbers that all trials share: their places in `known`."""

    made: Plan
    store: Store
    objective: Objective
    known: dict[str | Span, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trials = {trial.trial_id: trial for trial in self.made.trials}
        self.examples = self.made.trials[0].golden.examples
        self.whole = np.array([all(isinstance(place, str) for place in each.places) for each in self.examples], np.bool_)

    def swings(self, taken: str, others: Iterable[str]) -> dict[str, Swing]:
        """What labels do to the differences of a trial from others, by their ids.

        Trials with its own rankings are left out. Empty where the objective is more than metrics of ranks.
        """
        rivals = [name for name in others if self.trials[name].ends.judge != self.trials[taken].ends.judge]
        ranked = {name: found for name in (taken, *rivals) if (found := self.ranked(self.trials[name]))}
        first = ranked.pop(taken, None)
        return {name: swing(first, second, self.whole) for name, second in ranked.items()} if first else {}

    def ranking(self, trial: PlannedTrial) -> tuple[Rankings, Corpus] | None:
        """The rankings of a trial, and their chunks; None if it has not run."""
        keys = (self.made.stages[key].entry for key in (trial.ends.ranking, trial.ends.corpus))
        ranking, corpus = map(self.store.read, keys)
        return (rankings_of(ranking), corpus_of(corpus, trial.golden)) if ranking and corpus else None

    def ranked(self, trial: PlannedTrial) -> Ranked | None:
        """The first passages of a trial, and its value; None if it has not run, or its objective is more than ranks."""
        config, terms = trial.trial.config, () if self.objective.measured else self.objective.terms
        columns = [parse_column(term.column, config["k"]) for term in terms]
        if not columns or any(each.unit != "ranks" for each in columns):
            return None
        entry, searched = self.store.read(self.made.stages[trial.ends.judge].entry), self.ranking(trial)
        if not entry or not searched:
            return None
        build, judged = self.made.graph.components.build, Judged.from_arrays(entry.arrays)
        weights = [term.signed if self.objective.summed else self.objective.sign for term in terms]
        parts = [(each, build(config["metric"][each.metric], "metric"), weights[at]) for at, each in enumerate(columns)]

        def value(known: Judgements) -> Floats:
            return np.asarray(sum(weight * column.measure(metric, known) for column, metric, weight in parts))

        rankings, corpus = searched
        table = np.full((len(judged), min(max(each.size for each in columns), judged.judged.shape[1])), NONE)
        rankings = rankings if self.whole.any() else rankings.first(table.shape[1])
        for question, whole in enumerate(self.whole.tolist()):
            documents: dict[int, int] = {}
            for position, (rank, _) in rankings.placed(question).items():
                row = int(corpus.doc[position])
                place = documents.setdefault(row, len(documents) + 1) if whole else rank
                if place <= table.shape[1] and table[question, place - 1] == NONE:
                    name = corpus.documents[row].doc_id
                    span = name if whole else Span(name, int(corpus.start[position]), int(corpus.end[position]))
                    table[question, place - 1] = self.known.setdefault(span, len(self.known))
        return Ranked(judged, table, value)


def qualified(winner: Winner | None, pool: Pool) -> dict[str, Any]:
    """Fields of a conclusion: bounds against the nearest tied trial and RIVALS that are shown to be worse, and remarks.

    Where one search found all gold, all trials are tied.
    """
    if winner is None:
        return {}
    admitted = [each for each in winner.standings if each.admitted]
    if why := _one_search(pool, [each.trial_id for each in admitted]):
        standings = tuple(replace(each, tied=each.admitted) for each in winner.standings)
        ids = tuple(each.trial_id for each in admitted)
        tied = replace(winner, standings=standings, tied=ids, why=ONE_SEARCH, expected=None)
        return {"winner": tied, "notes": (why,), "wins": None, "effects": None}
    others = [each for each in admitted if each.trial_id != winner.recommended]
    near = [each for each in others if each.tied][:1] + [each for each in others if not each.tied][:RIVALS]
    swings, cluster = pool.swings(winner.recommended, [each.trial_id for each in near]), cluster_numbers(pool.examples)
    found = ((each, swings[each.trial_id]) for each in near if each.trial_id in swings)
    bounds = tuple(Bounds(each.name, not each.tied, *own.ends, own.to_lose(cluster, not each.tied)) for each, own in found)
    unsaid = (UNSAID,) if near and pool.objective.column.endswith("chars") else ()
    return {"bounds": bounds, "notes": (*remarks(winner.of(winner.recommended).name, bounds), *unsaid)}


def remarks(taken: str, bounds: Sequence[Bounds]) -> Iterator[str]:
    """A sentence on the bounds of a verdict: on all that is shown, or else on the nearest rival."""
    shown = [each for each in bounds if each.shown]
    weak = min((each for each in shown if each.labels), key=lambda each: each.labels or 0, default=None)
    if shown and weak is None:
        over = f"The lead of {taken} over the nearest {amount(len(shown), 'trial')}"
        yield f"{over} does not depend on passages without a judgement."
    for each in (weak,) if shown else bounds[:1]:
        if each and each.labels:
            ends = f"{figure(each.low, signed=True)} to {figure(each.high, signed=True)}"
            what = f"undo what is shown against {each.rival}" if each.shown else f"put {each.rival} level with {taken}"
            yield f"{amount(each.labels, 'label')} of passages without a judgement would {what} (difference {ends})."


def _one_search(pool: Pool, admitted: Sequence[str]) -> str:
    """Why one search found all gold; empty where none did, or where all trials share it."""
    declared = {each.searches for each in pool.examples if each.has_gold}
    if len(declared) == 1 and len(names := next(iter(declared))) == 1:
        return f"The gold was found with one search, {names[0]}, and {UNFAIR}"

    def cut(name: str) -> int:
        entry = pool.store.read(pool.made.stages[pool.trials[name].ends.judge].entry)
        return cut_off(entry.arrays["group_ranks"]) if entry else 0

    # A search that found all gold is among the best. One trial at a time: judgements of thousands take gigabytes.
    name, rank = next(((name, rank) for name in admitted[:LEADERS] if (rank := cut(name))), ("", 0))
    if not name or all(map(cut, admitted)):
        return ""
    return f"All gold is among the first {rank} of {pool.trials[name].trial.name}: it was found with that search, and {UNFAIR}"


def cut_off(group_ranks: NDArray[np.int32]) -> int:
    """The last rank of gold, if all gold is found and a ranking that goes on would have more of it below; else 0.

    The number of gold places is taken to fall by the same factor with each rank. So the last rank says how many are expected
    below it; LEAST or more of them are missing by chance in less than 1 % of sets.
    """
    ranks = group_ranks[group_ranks >= 0]
    last = int(ranks.max(initial=0))
    first, end = (int((ranks == rank).sum()) for rank in (1, last))
    if last < 2 or not ranks.all() or end < LEAST:
        return 0
    factor = min((end / max(first, 1)) ** (1 / (last - 1)), 0.99)
    return last if end * factor / (1 - factor) >= LEAST else 0
