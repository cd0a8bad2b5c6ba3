"""What each search of a policy added to the evidence, for trials that ran. Nothing runs.

A *hop* is a search. What it found are its first k passages; the evidence after a hop is what these and those of the hops before
hold together.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag.analysis.blame.reader import Reader
from rag.core.arrays import Flags, Ints
from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.numbers import jsonable, mean
from rag.core.rankings import Rankings
from rag.evaluation.scoring import judge
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.search_graph import LOOKS
from rag.execution.store.serialisation import looks_of
from rag.execution.store.store import Store


@dataclass(frozen=True)
class Hop:
    """A hop over the questions with evidence: `made` of them made it, for `gained` it found evidence that was new.

    `recall` is the mean share of evidence that all questions have after it, `full` the share of questions with all of it.
    """

    number: int
    made: int
    gained: int
    recall: float
    full: float


@dataclass(frozen=True)
class Hops:
    """The hops of one trial over `questions` with evidence.

    `hops_made` is their mean number, `needed` the mean of the first hop after which nothing was gained, and `wasted` the share
    of the hops behind it. `complete` is the mean share of the evidence of the `several` questions with more than one group,
    such as lists and comparisons. Per question, `calls` are requests to a model, and `tokens` and `seconds` those of all steps.
    """

    trial: str
    name: str
    questions: int
    hops: tuple[Hop, ...]
    hops_made: float
    needed: float
    wasted: float
    several: int
    complete: float
    calls: float
    tokens: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The trial as JSON values, None for NaN."""
        return dict(jsonable(asdict(self)))


def measure_hops(made: Plan, store: Store) -> list[Hops]:
    """The trials of a finished sweep that have a policy or a route."""
    reader = Reader(made, store)
    keys = [(trial, trial.ends.ranking) for trial in made.trials]
    ran = [(trial, key) for trial, key in keys if made.stages[key].name in LOOKS and store.read_meta(made.stages[key].entry)]
    return [_hops(trial, looks_of(reader.runner.obtain(key).meta), reader) for trial, key in ran]


def _hops(trial: PlannedTrial, looks: Sequence[Look | None], reader: Reader) -> Hops:
    rows = [row for row, example in enumerate(trial.golden.examples) if example.ranked and (look := looks[row]) and look.steps]
    found = [[step.found for step in looks[row].steps if step.act == "search"] for row in rows]  # type: ignore[union-attr]
    counts = np.array([len(each) for each in found])
    groups = np.array([len(trial.golden.examples[row].ranked) for row in rows])
    corpus, gold = reader.corpus(trial), reader.gold(trial)
    held = [np.zeros(len(rows), np.int64)]
    for hop in range(int(counts.max(initial=0))):
        rankings = _until(hop, found, rows, len(trial.golden.examples), corpus)
        held.append((judge(rankings, gold).group_ranks[rows] > 0).sum(axis=1))
    gains = np.diff(np.array(held), axis=0) > 0
    needed = np.array([_last(gains[:, place]) for place in range(len(rows))])
    hops = tuple(
        Hop(hop + 1, int((counts > hop).sum()), int(gains[hop].sum()), *_shares(held[hop + 1], groups))
        for hop in range(len(gains))
    )
    several = groups > 1
    steps = [step for row in rows for step in looks[row].steps]  # type: ignore[union-attr]
    per = max(len(rows), 1)
    return Hops(
        trial.trial_id,
        trial.trial.name,
        len(rows),
        hops,
        mean(counts.astype(float)),
        mean(needed.astype(float)),
        float((counts - needed).sum() / counts.sum()) if counts.sum() else math.nan,
        int(several.sum()),
        _shares(held[-1][several], groups[several])[0],
        sum(1 for step in steps if step.tokens) / per,
        sum(step.tokens for step in steps) / per,
        sum(step.seconds for step in steps) / per,
    )


def _until(hop: int, found: Sequence[Sequence[tuple[str, ...]]], rows: Sequence[int], count: int, corpus: Corpus) -> Rankings:
    """The passages of the first hops of every question, in the order in which they were found."""
    ranked: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for row, hops in zip(rows, found, strict=True):
        names = dict.fromkeys(name for each in hops[: hop + 1] for name in each)
        ranked[row] = [(corpus.position(name), 1 / rank) for rank, name in enumerate(names, 1)]
    return Rankings.pack(ranked)


def _last(gains: Flags) -> int:
    """The number of the last hop with a gain; 1 if there is none, because one search is always made."""
    places = np.flatnonzero(gains)
    return int(places[-1]) + 1 if len(places) else 1


def _shares(held: Ints, groups: Ints) -> tuple[float, float]:
    """The mean share of the evidence, and the share of questions with all of it."""
    return mean(held / groups), mean((held == groups).astype(float))
