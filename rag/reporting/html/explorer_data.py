"""The results of trials by question, read from the store for the explorer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Example, document_of, spans_of
from rag.evaluation.scoring import Judged, Scores
from rag.execution.graph.plan import PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of, replies_of
from rag.execution.store.store import Entry
from rag.reporting.html.findings import Scored
from rag.reporting.html.view_model import FAILED, LOST, NO_GOLD, PARTLY, SOLVED, Explorer, Passage, Question, Ranked, Shown

WIDTH = 10
"""Passages per question and trial that are shown, the first ones."""


def explorer(scored: Scored, lost: Mapping[str, Mapping[str, int]]) -> Explorer | None:
    """Questions, outcomes and passages of the trials with scores; `lost` has losing stages by trial and question."""
    golden = scored.trials[0].golden
    reading = _Reading(scored)
    shown, rankings = [], dict[str, Ranked]()
    for trial, scores in zip(scored.trials, scored.results, strict=True):
        if (entry := reading.entry(trial.ends.judge)) is None:
            continue
        judged, checked = Judged.from_arrays(entry.arrays), reading.entry(trial.ends.check)
        replies = [reply.text for reply in replies_of(checked)] if checked else []
        shown.append(_trial_results(scored, trial, scores, judged, lost.get(trial.trial_id, {}), replies))
        if shown[-1].ranking not in rankings and (found := reading.ranked(trial, judged)) is not None:
            rankings[shown[-1].ranking] = found
    if not shown:
        return None
    documents = {document.doc_id: document.text for document in golden.documents}
    metadata = {document.doc_id: document.metadata for document in golden.documents if document.metadata}
    return Explorer(tuple(map(_question, golden.examples)), tuple(shown), rankings, documents, metadata)


class _Reading:
    """Reads entries of the store; a corpus that several trials share is read once."""

    def __init__(self, scored: Scored) -> None:
        self.scored = scored
        self.corpora: dict[str, Corpus | None] = {}

    def entry(self, key: str | None) -> Entry | None:
        return self.scored.store.read(self.scored.made.stages[key].entry) if key else None

    def ranked(self, trial: PlannedTrial, judged: Judged) -> Ranked | None:
        key = trial.ends.corpus
        if key not in self.corpora:
            chunks = self.entry(key)
            self.corpora[key] = corpus_of(chunks, trial.golden) if chunks else None
        corpus, entry = self.corpora[key], self.entry(trial.ends.ranking)
        return _ranked(rankings_of(entry).first(WIDTH), corpus, judged) if corpus and entry else None


def _ranked(rankings: Rankings, corpus: Corpus, judged: Judged) -> Ranked:
    names = [document.doc_id for document in corpus.documents]
    rows = []
    for question in range(len(rankings)):
        hits: dict[int, Passage] = {}
        for position, (rank, _) in rankings.placed(question).items():
            doc, start, end = (int(values[position]) for values in (corpus.doc, corpus.start, corpus.end))
            # A hit and its neighbours are shown as one passage.
            _, first, last = hits.get(rank, (names[doc], start, end))
            hits[rank] = names[doc], min(first, start), max(last, end)
        rows.append([hits.get(rank) for rank in range(1, max(hits, default=0) + 1)])
    return Ranked(rows, np.maximum(judged.group_ranks, 0).tolist())


def _trial_results(
    scored: Scored,
    trial: PlannedTrial,
    scores: Scores,
    judged: Judged,
    stages: Mapping[str, int],
    replies: Sequence[str],
) -> Shown:
    config: Mapping[str, Any] = trial.trial.config
    lost = np.array([stages.get(query_id, 0) for query_id in scores.query_ids], np.int64)
    name = "objective" if scored.objective.summed else scored.column
    columns = {name: scored.values(scores).tolist()}
    columns |= {column: scores.column(column).tolist() for column in scores.columns if column not in columns}
    found = outcomes(judged, config["k"], scores.failed, lost)
    return Shown(
        trial.trial_id, config["k"], found.tolist(), lost.tolist(), columns, f"{trial.ends.ranking} {trial.ends.judge}", replies
    )


def outcomes(judged: Judged, k: int, failed: NDArray[np.bool_], lost: NDArray[np.int64]) -> NDArray[np.int64]:
    """The outcome of each question within k, shape (questions,). A question that a later stage lost is lost even if found."""
    there = judged.group_ranks >= 0
    found = (judged.group_ranks > 0) & (judged.group_ranks <= k)
    groups, satisfied = there.sum(axis=1), found.sum(axis=1)
    result = np.where(satisfied == groups, SOLVED, np.where(satisfied > 0, PARTLY, LOST))
    result = np.where((result == SOLVED) & (lost > 0), LOST, result)
    result = np.where(groups == 0, NO_GOLD, result)
    return np.where(failed, FAILED, result).astype(np.int64)


def _question(example: Example) -> Question:
    query = example.query
    gold = tuple(
        tuple(
            (document_of(place), *edges)
            for place in group.alternatives
            for edges in ([(-1, -1)] if isinstance(place, str) else [(span.start, span.end) for span in spans_of(place)])
        )
        for group in example.evidence
        if group.grade > 0
    )
    history = tuple((turn.role, turn.text) for turn in query.history)
    return Question(query.query_id, query.text, example.kind, example.tags, history, example.answers, gold)
