"""The results of trials by question, read from the store for the explorer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from rag.analysis.chunk_structure import Structure
from rag.core.arrays import Flags, Ints
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.types import Document, Evidence, Example, document_of, spans_of
from rag.evaluation.scoring import Judged, Scores
from rag.execution.graph.plan import PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of, replies_of
from rag.execution.store.store import Entry
from rag.reporting.html import gold_chunks
from rag.reporting.html.findings import Scored
from rag.reporting.html.view_model import FAILED, LOST, NO_GOLD, PARTLY, SOLVED, Explorer, Passage, Ranked, Shown

WIDTH = 10
"""Passages per question and trial that are shown, the first ones."""
CUTTING = {"chunker", "passage"}
"""The roles that the second trial differs in."""


def explorer(scored: Scored, lost: Mapping[str, Mapping[str, int]]) -> Explorer | None:
    """Questions, outcomes and passages of the trials with scores; `lost` has losing stages by trial and question."""
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
    texts = {reading.name(trial, document): document for trial in reading.sets for document in trial.golden.documents}
    documents = {name: document.text for name, document in texts.items()}
    metadata = {name: document.metadata for name, document in texts.items() if document.metadata}
    asked = [trial.golden.examples for trial in reading.sets]
    gold = list(map(reading.gold, *asked))
    return Explorer(asked[0], gold, _paired(shown, scored.trials), rankings, documents, metadata)


def _paired(shown: Sequence[Shown], trials: Sequence[PlannedTrial]) -> tuple[Shown, ...]:
    """The trials with the counterpart of the first one in second place: it differs in CUTTING, and in least else."""
    configs = {trial.trial_id: trial.trial.config for trial in trials}
    own, *others = (configs[each.trial_id] for each in shown)
    apart = [{role for role in own if other.get(role) != own[role]} for other in others]
    cut = [place for place, roles in enumerate(apart, 1) if roles & CUTTING]
    second = [min(cut, key=lambda place: len(apart[place - 1] - CUTTING))] if cut else []
    return tuple(shown[place] for place in dict.fromkeys((0, *second, *range(len(shown)))))


class _Reading:
    """Reads entries of the store; a corpus that several trials share is read once."""

    def __init__(self, scored: Scored) -> None:
        self.scored = scored
        self.corpora: dict[str, Corpus | None] = {}
        self.structure = cache(Structure.of)

    def entry(self, key: str | None) -> Entry | None:
        return self.scored.store.read(self.scored.made.stages[key].entry) if key else None

    def ranked(self, trial: PlannedTrial, judged: Judged) -> Ranked | None:
        key = trial.ends.corpus
        if key not in self.corpora:
            chunks = self.entry(key)
            self.corpora[key] = corpus_of(chunks, trial.golden) if chunks else None
        corpus, entry = self.corpora[key], self.entry(trial.ends.ranking)
        if not corpus or not entry:
            return None
        names, rankings = {each.doc_id: self.name(trial, each) for each in corpus.documents}, rankings_of(entry)
        ranked, gold = _ranked(rankings.first(WIDTH), corpus, judged, list(names.values())), []
        for row, example in enumerate(trial.golden.examples):
            ranks = {position: rank for position, (rank, _) in rankings.placed(row).items()}
            groups = zip(example.ranked, ranked.found[row], strict=False)
            near = [gold_chunks.chunks_at(corpus, group, ranks, rank, self.structure) for group, rank in groups]
            gold.append([replace(one, document=names.get(one.document, "")) for one in near])
        return replace(ranked, gold=gold)

    def name(self, trial: PlannedTrial, document: Document) -> str:
        """The name of a document, with its parser and redactor if its text is not that of the first trial's corpus."""
        first = self.by_id[self.scored.trials[0].golden.golden_digest]
        if first.get(document.doc_id) == document:
            return document.doc_id
        loader = trial.trial.config["loader"]
        parser = loader.get("parsers", {}).get(PurePosixPath(document.doc_id).suffix.lower().removeprefix("."), {})
        nodes = (parser, loader["redactor"]) if document.redactions else (parser,)
        return f"{document.doc_id} ({', '.join(node.get('_target_', '').rpartition('.')[2] for node in nodes)})"

    @cached_property
    def sets(self) -> list[PlannedTrial]:
        """A trial of each golden set: trials with several parsers have the same questions and different texts."""
        return list({trial.golden.golden_digest: trial for trial in self.scored.trials}.values())

    def gold(self, *asked: Example) -> list[list[Passage]]:
        """The places of each group of a question in the texts of all trials."""
        gold = (
            (place for trial, group in zip(self.sets, same, strict=True) for place in self.places(trial, group))
            for same in zip(*(each.ranked for each in asked), strict=True)
        )
        return [list(dict.fromkeys(group)) for group in gold]

    def places(self, trial: PlannedTrial, group: Evidence) -> Iterator[Passage]:
        """The places of a group in the texts of a trial; start and end are -1 for a whole document."""
        texts = self.by_id[trial.golden.golden_digest]
        for place in group.alternatives:
            document = texts.get(document_of(place))
            name = self.name(trial, document) if document else document_of(place)
            edges = [(-1, -1)] if isinstance(place, str) else [(span.start, span.end) for span in spans_of(place)]
            yield from ((name, *edge) for edge in edges)

    @cached_property
    def by_id(self) -> dict[str, dict[str, Document]]:
        """The documents of each golden set, by their ids."""
        goldens = [trial.golden for trial in self.sets]
        return {golden.golden_digest: {document.doc_id: document for document in golden.documents} for golden in goldens}


def _ranked(rankings: Rankings, corpus: Corpus, judged: Judged, names: Sequence[str]) -> Ranked:
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
    scored: Scored, trial: PlannedTrial, scores: Scores, judged: Judged, stages: Mapping[str, int], replies: Sequence[str]
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


def outcomes(judged: Judged, k: int, failed: Flags, lost: Ints) -> Ints:
    """The outcome of each question within k, shape (questions,). A question that a later stage lost is lost even if found."""
    there = judged.group_ranks >= 0
    found = (judged.group_ranks > 0) & (judged.group_ranks <= k)
    groups, satisfied = there.sum(axis=1), found.sum(axis=1)
    result = np.where(satisfied == groups, SOLVED, np.where(satisfied > 0, PARTLY, LOST))
    result = np.where((result == SOLVED) & (lost > 0), LOST, result)
    result = np.where(groups == 0, NO_GOLD, result)
    return np.where(failed, FAILED, result).astype(np.int64)
