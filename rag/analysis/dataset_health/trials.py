"""The results of finished trials by question."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rag.analysis.dataset_health.findings import Finding, counted
from rag.config.identity import without_runtime
from rag.core.types import Example
from rag.evaluation.data.golden import gold_documents
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store

FEWEST = 2
"""The least number of different rankings for findings about all trials."""

AGREED = 0.75
"""The share of rankings, each way to search with one vote, that must begin with one document to cast doubt on the gold.

On the handbook's tune questions the 24 trials of experiments/quickstart.yaml, six ways to search, agree that far on 46 of 106:
a little less than half of wrong gold would be found. None of the 106 is listed; at .7 one is, and its gold is right.
"""


@dataclass
class QuestionHistory:
    """The results for one question over all different rankings: how often it was solved, and at which ranks."""

    example: Example
    times: int = 0
    solved: int = 0
    nearest: int = 0
    most: float = 0.0
    latest: int = 0
    first: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, ranks: NDArray[np.int32], k: int, way: str, first: str) -> None:
        """Add the ranks of the groups of evidence (0 for none), and the document that a way to search ranks first."""
        self.times += 1
        self.solved += bool((ranks > 0).all() and ranks.max() <= k)
        self.most = max(self.most, float((ranks > 0).mean()))
        self.latest = max(self.latest, int(ranks.max()))
        if (ranks > 0).all():
            self.nearest = min(self.nearest or int(ranks.max()), int(ranks.max()))
        self.first.setdefault(way, Counter())[first] += 1

    def usual_first(self) -> tuple[str, float, int]:
        """The document that is ranked first most often, its share of rankings, and its number of rankings.

        Every way to search has one vote: ten settings of one embedder make the same mistakes.
        """
        voices = self.first.values()
        shares = {name: sum(voice[name] / voice.total() for voice in voices) for voice in voices for name in voice}
        document = max(shares, key=shares.__getitem__)
        return document, shares[document] / len(voices), sum(voice[document] for voice in voices)


@dataclass
class Record:
    """The results of all finished trials, by the id of the question."""

    asked: dict[str, QuestionHistory] = field(default_factory=dict)
    rankings: set[tuple[str, int]] = field(default_factory=set)
    finished: int = 0

    def unsolved(self) -> tuple[Finding, ...]:
        """Questions for which no trial finds all evidence within its k."""
        return tuple(_finding(asked.example, _unsolved(asked)) for asked in self._by_several() if not asked.solved)

    def always_solved(self) -> tuple[Finding, ...]:
        """Questions for which every trial finds all evidence within its k: they show no difference between trials."""
        return tuple(
            _finding(asked.example, f"all evidence by rank {asked.latest} in each of {counted(asked.times, 'ranking')}")
            for asked in self._by_several()
            if asked.solved == asked.times
        )

    def suspects(self) -> tuple[Finding, ...]:
        """Questions that no trial solves while most rank one document first that is not gold: the gold may be wrong."""
        findings = []
        for asked in self._by_several():
            gold = gold_documents(asked.example)
            first, share, times = asked.usual_first()
            if not asked.solved and len(asked.first) >= FEWEST and first not in ("", *gold) and share >= AGREED:
                why = f"{times} of {counted(asked.times, 'ranking')} begin with {first}; its gold is in {', '.join(gold)}"
                findings.append(_finding(asked.example, why))
        return tuple(findings)

    def _by_several(self) -> Sequence[QuestionHistory]:
        return [asked for asked in self.asked.values() if asked.times >= FEWEST]


def recorded(made: Plan, trials: Sequence[PlannedTrial], store: Store) -> Record:
    """Read the stored results of the finished trials."""
    record = Record()
    for trial in trials:
        if not store.has(made.stages[trial.ends.score].entry):
            continue
        ranking = (trial.ends.judge, int(trial.trial.config["k"]))
        # Trials that differ in their generators only have one ranking, which counts once.
        if ranking in record.rankings or _read(record, made, trial, store):
            record.finished += 1
            record.rankings.add(ranking)
    return record


def _read(record: Record, made: Plan, trial: PlannedTrial, store: Store) -> bool:
    judge, ranking, corpus = (
        store.read(made.stages[key].entry) for key in (trial.ends.judge, trial.ends.ranking, trial.ends.corpus)
    )
    if judge is None or ranking is None or corpus is None:
        return False
    way = way_to_search(trial, made)
    ranks, rankings, chunks = judge.arrays["group_ranks"], rankings_of(ranking), corpus_of(corpus, trial.golden)
    for row, example in enumerate(trial.golden.examples):
        groups = ranks[row][ranks[row] >= 0]
        if len(groups):
            head = rankings.first(1).row(row)
            first = chunks.documents[int(chunks.doc[head[0][0]])].doc_id if head else ""
            known = record.asked.setdefault(example.query.query_id, QuestionHistory(example))
            known.add(groups, int(trial.trial.config["k"]), way, first)
    return True


def way_to_search(trial: PlannedTrial, made: Plan) -> str:
    """The embedder or 'words' of each index, and the reranker: rankings with the same ones make the same mistakes."""
    config = trial.trial.config
    vectors = str(without_runtime(config["embedder"]))
    by = {vectors if "vectors" in made.stages[key].inputs else "words" for key in trial.ends.indexes.values()}
    return " ".join([*sorted(by), config["reranker"]["_target_"]])


def _unsolved(asked: QuestionHistory) -> str:
    rankings = f"none of {counted(asked.times, 'ranking')}"
    if asked.nearest:
        return f"all evidence within k in {rankings}; at best by rank {asked.nearest}"
    pieces = counted(len(asked.example.evidence), "piece")
    best = f"at best {round(asked.most * len(asked.example.evidence))} of {pieces}" if asked.most else "nothing"
    return f"all evidence within k in {rankings}; {best} among all candidates"


def _finding(example: Example, why: str) -> Finding:
    return Finding(example.query.query_id, example.query.text, why)
