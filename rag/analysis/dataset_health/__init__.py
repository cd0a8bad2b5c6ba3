"""Problems of an experiment's questions: from the questions alone, and from the results of its finished trials."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.analysis.dataset_health.questions import Finding, give_aways, near_duplicates
from rag.config.experiment import Experiment
from rag.config.identity import digest, without_runtime
from rag.config.validation import control_of
from rag.core.figures import amount
from rag.core.numbers import jsonable
from rag.core.types import Example
from rag.evaluation.data import golden as golden_sets
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
class Results:
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
            _finding(asked.example, f"all evidence by rank {asked.latest} in each of {amount(asked.times, 'ranking')}")
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
                why = f"{times} of {amount(asked.times, 'ranking')} begin with {first}; its gold is in {', '.join(gold)}"
                findings.append(_finding(asked.example, why))
        return tuple(findings)

    def _by_several(self) -> Sequence[QuestionHistory]:
        return [asked for asked in self.asked.values() if asked.times >= FEWEST]


def results_of(made: Plan, trials: Sequence[PlannedTrial], store: Store) -> Results:
    """Read the stored results of the finished trials."""
    results = Results()
    for trial in trials:
        if not store.has(made.stages[trial.ends.score].entry):
            continue
        ranking = (trial.ends.judge, int(trial.trial.config["k"]))
        # Trials that differ in their generators only have one ranking, which counts once.
        if ranking in results.rankings or _read(results, made, trial, store):
            results.finished += 1
            results.rankings.add(ranking)
    return results


def _read(results: Results, made: Plan, trial: PlannedTrial, store: Store) -> bool:
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
            known = results.asked.setdefault(example.query.query_id, QuestionHistory(example))
            known.add(groups, int(trial.trial.config["k"]), way, first)
    return True


def way_to_search(trial: PlannedTrial, made: Plan) -> str:
    """The embedder or 'words' of each index, and the reranker: rankings with the same ones make the same mistakes."""
    config = trial.trial.config
    vectors = str(without_runtime(config["embedder"]))
    by = {vectors if "vectors" in made.stages[key].inputs else "words" for key in trial.ends.indexes.values()}
    return " ".join([*sorted(by), config["reranker"]["_target_"]])


def _unsolved(asked: QuestionHistory) -> str:
    rankings = f"none of {amount(asked.times, 'ranking')}"
    if asked.nearest:
        return f"all evidence within k in {rankings}; at best by rank {asked.nearest}"
    pieces = amount(len(asked.example.evidence), "piece")
    best = f"at best {round(asked.most * len(asked.example.evidence))} of {pieces}" if asked.most else "nothing"
    return f"all evidence within k in {rankings}; {best} among all candidates"


def _finding(example: Example, why: str) -> Finding:
    return Finding(example.query.query_id, example.query.text, why)


@dataclass(frozen=True)
class Health:
    """One golden set of an experiment with all its splits: `near_duplicates` and `give_aways` come from the questions alone.

    The rest comes from the `finished` of `trials` trials, without controls: questions `unsolved` by any trial, `always_solved`
    by all, and `suspects`, whose gold may be wrong. `told` lists what could not be checked, and why.
    """

    dataset: str
    questions: int
    trials: int
    finished: int
    near_duplicates: tuple[Finding, ...]
    give_aways: tuple[Finding, ...]
    unsolved: tuple[Finding, ...]
    always_solved: tuple[Finding, ...]
    suspects: tuple[Finding, ...]
    told: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        return dict(jsonable(asdict(self)))


def check_health(made: Plan, store: Store) -> tuple[Health, ...]:
    """Check every golden set of an experiment; trials that did not run, or whose stages are gone, are left out."""
    sets: dict[str, list[PlannedTrial]] = {}
    for trial in made.trials:
        sets.setdefault(digest(trial.trial.config["loader"], trial.trial.config["dataset"]), []).append(trial)
    return tuple(_health(made, trials, store) for trials in sets.values())


def _health(made: Plan, planned: list[PlannedTrial], store: Store) -> Health:
    config = planned[0].trial.config
    trials = [trial for trial in planned if control_of(trial.trial.config) == "none"]
    golden = golden_sets.load(*(made.graph.components.role(role, config[role]) for role in ("loader", "dataset")))
    results = results_of(made, trials, store)
    return Health(
        dataset=str(config["dataset"].get("path") or config["dataset"]["_target_"]),
        questions=len(golden.examples),
        trials=len(trials),
        finished=results.finished,
        near_duplicates=near_duplicates(golden),
        give_aways=give_aways(golden),
        unsolved=results.unsolved(),
        always_solved=results.always_solved(),
        suspects=results.suspects(),
        told=tuple(_left_out(made.experiment, len(trials), results)),
    )


def _left_out(experiment: Experiment, trials: int, results: Results) -> Iterator[str]:
    if not trials:
        yield "every trial is a control: findings from trials are left out"
    elif not results.finished:
        missing = f"no trial of {experiment.name} has run on this store: findings from trials are left out"
        yield f"{missing}; run rag sweep {experiment.called}"
    elif len(results.rankings) < FEWEST:
        yield "only one ranking is stored: findings about all trials need two or more"
    elif results.finished < trials:
        yield f"{results.finished} of {trials} trials have run and are still stored: the others are left out"
