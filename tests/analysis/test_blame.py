"""Blame: against a reference that counts characters one by one, and by breaking one stage at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_set import write_experiment, write_golden

from rag.analysis import blame
from rag.analysis.blame.corridor import STAGES, Ground, Steps, fallen
from rag.config.experiment import load
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.types import Document, Evidence, Example, Query, Reply, Span
from rag.evaluation.scoring import gold_table, judge
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep

(MISSING, PARSER, _, REDACTION, NOISE, CHUNKER, CANDIDATES, LOW, FUSION, RERANKING, SELECTOR, PROMPT, ANSWER) = STAGES


@dataclass(frozen=True)
class Case:
    """One question: its ranking after every step, as chunk positions; steps that change nothing are None."""

    corpus: Corpus
    example: Example
    indexes: Mapping[str, Sequence[int]]
    fused: Sequence[int]
    reranked: Sequence[int] | None = None
    selected: Sequence[int] | None = None
    contexts: Sequence[int] | None = None
    coverage: float = 0.5
    k: int = 2
    rerank_depth: int = 4


def blamed(case: Case) -> list[str | None]:
    """The stage of each group by the code under test."""
    gold = gold_table(case.corpus, [case.example], case.coverage)
    rows = dict(case.indexes) | {"fused": case.fused}
    rows |= {name: row for name in ("reranked", "selected") if (row := getattr(case, name)) is not None}
    rankings = {key: packed(row) for key, row in rows.items()}
    reranked = "reranked" if case.reranked is not None else "fused"
    steps = Steps({key: key for key in case.indexes}, "fused", reranked, "selected" if case.selected is not None else reranked)

    def look(key: str, head: int) -> np.ndarray:
        return judge(rankings[key].first(head) if head else rankings[key], gold).group_ranks

    read = None if case.contexts is None else judge(packed(case.contexts), gold).group_ranks > 0
    ground = Ground.of(case.corpus, [case.example], gold)
    (found,) = fallen(steps, look, ground, case.k, case.rerank_depth, read).tolist()
    return [None if number < 0 else STAGES[number] for number in found[: len(case.example.evidence)]]


def packed(row: Sequence[int]) -> Rankings:
    return Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(row)]])


class Reference:
    """The definition in the docstring of rag.analysis.blame, word for word, one question and one group at a time, in sets."""

    def __init__(self, case: Case, group: Evidence) -> None:
        self.case, self.group, self.corpus = case, group, case.corpus
        gold = [place for evidence in case.example.evidence for place in evidence.alternatives]
        self.by_document = all(isinstance(place, str) for place in gold)
        self.reranked = case.fused if case.reranked is None else case.reranked
        self.selected = self.reranked if case.selected is None else case.selected

    def holds(self, chunks: Sequence[int]) -> bool:
        return any(self._found(place, chunks) for place in self.group.alternatives)

    def _found(self, place: Span | str, chunks: Sequence[int]) -> bool:
        names = [self.corpus.documents[self.corpus.doc[chunk]].doc_id for chunk in chunks]
        if isinstance(place, str):
            return place in names
        seen: set[int] = set()
        for name, chunk in zip(names, chunks, strict=True):
            if name == place.doc_id:
                seen |= set(range(self.corpus.start[chunk], self.corpus.end[chunk])) & set(range(place.start, place.end))
        return len(seen) >= max(1, math.ceil(round(self.case.coverage * (place.end - place.start), 6)))

    def within(self, ranking: Sequence[int]) -> bool:
        if not self.by_document:
            return self.holds(ranking[: self.case.k])
        firsts = dict.fromkeys(int(self.corpus.doc[chunk]) for chunk in ranking)
        read = list(firsts)[: self.case.k]
        return self.holds([chunk for chunk in ranking if int(self.corpus.doc[chunk]) in read])

    def above(self, ranking: Sequence[int]) -> bool:
        looked_at = self.case.reranked is not None and self.holds(ranking[: self.case.rerank_depth])
        return self.within(ranking) or looked_at

    def stage(self) -> str | None:
        case = self.case
        found = [*case.indexes.values(), case.fused]
        read = self.within(self.selected) and (case.contexts is None or self.holds(case.contexts))
        if read:
            return None
        with_text = {document.doc_id for document in self.corpus.documents if document.text.strip()}
        if not any((place if isinstance(place, str) else place.doc_id) in with_text for place in self.group.alternatives):
            return MISSING
        soon = any(self.within(ranking) for ranking in (*found, self.reranked, self.selected))
        if not soon and not any(self.holds([chunk]) for chunk in range(len(self.corpus))):
            return CHUNKER
        if self.within(self.selected):
            return PROMPT
        if self.within(self.reranked):
            return SELECTOR
        if self.above(case.fused):
            return RERANKING
        if any(self.above(ranking) for ranking in found):
            return FUSION
        return LOW if any(self.holds(ranking) for ranking in found) else CANDIDATES


DOCUMENTS = tuple(Document(name, text) for name, text in (("a", "a" * 24), ("b", "b" * 12), ("c", "c" * 12), ("blank", "  ")))
LENGTHS = {document.doc_id: len(document.text) for document in DOCUMENTS if document.text.strip()} | {"elsewhere": 12}


@st.composite
def spans(draw: st.DrawFn, documents: Sequence[str], least: int = 1) -> Span:
    doc_id = draw(st.sampled_from(documents))
    start = draw(st.integers(0, LENGTHS[doc_id] - least))
    return Span(doc_id, start, draw(st.integers(start + least, min(LENGTHS[doc_id], start + 12))))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    pieces = draw(st.lists(spans(["a", "b"], 2), min_size=2, max_size=9))
    corpus = Corpus.of(DOCUMENTS, pieces)
    wholes, parts = st.sampled_from(["a", "b", "c", "blank", "elsewhere"]), spans(["a", "b", "c", "elsewhere"])
    place = draw(st.sampled_from([wholes, parts, wholes | parts]))
    groups = draw(st.lists(st.lists(place, min_size=1, max_size=2), min_size=1, max_size=3))
    example = Example(Query("q", "?"), tuple(Evidence(tuple(group)) for group in groups))
    ranking = st.lists(st.sampled_from(range(len(corpus))), unique=True, max_size=len(corpus))
    indexes = {f"index {number}": draw(ranking) for number in range(draw(st.integers(1, 2)))}
    fused = draw(ranking)
    optional = draw(st.none() | st.permutations(fused)), draw(st.none() | ranking), draw(st.none() | ranking)
    cuts = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    return Case(corpus, example, indexes, fused, *optional, draw(st.sampled_from([0.3, 0.5, 0.8, 1.0])), *cuts)


def test_the_reference_agrees_at_every_stage() -> None:
    reached = set[str | None]()

    @settings(max_examples=250, deadline=None)
    @given(cases())
    def agrees(case: Case) -> None:
        found = [Reference(case, group).stage() for group in case.example.evidence]
        assert blamed(case) == found
        reached.update(found)

    agrees()
    assert reached == {None, MISSING, CHUNKER, CANDIDATES, LOW, FUSION, RERANKING, SELECTOR, PROMPT}


AXES = """\
  chunker: ["chunker=fixed chunker.size=10 chunker.overlap=0", "chunker=recursive chunker.size=80"]
  search: ["index=[bm25s] fusion=single", "index=[bm25s,dense]"]
  k: k=1,3"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Store]:
    """A small grid that generates answers, run to its end."""
    folder = tmp_path_factory.mktemp("ran")
    path = write_experiment(folder / "small.yaml", write_golden(folder / "golden"), AXES, ", depth=4")
    path.write_text(path.read_text("utf-8").replace("generator=none", "generator=extractive"), "utf-8")
    ready = sweep.prepare(load(str(path), ["split=all", f"store={folder / 'store'}"]))
    sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None)
    return ready.plan, ready.store


def test_every_question_that_recall_at_k_calls_lost_has_one_stage(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    reader, stages = blame.Reader(made, store), set()
    assert len(made.trials) == 8
    for trial in made.trials:
        gold = judge(reader.rankings(trial.ends.ranking), reader.gold(trial))
        missed = ((gold.group_ranks == 0) | (gold.group_ranks > trial.trial.config["k"])).any(axis=1)
        lost = blame.lost_questions(trial, made, store)
        assert [each.query_id for each in lost] == [q for q, miss in zip(_ids(trial), missed, strict=True) if miss]
        assert lost == blame.lost_questions(trial, made, store, reader=reader)
        stages |= {each.stage for each in lost}
    assert {CHUNKER} <= stages <= set(STAGES)


def _ids(trial: blame.PlannedTrial) -> list[str]:
    return [example.query.query_id for example in trial.golden.examples]


def test_only_the_given_questions(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    trial = made.trials[0]
    every = blame.lost_questions(trial, made, store)
    chosen = {every[0].query_id, "q5"}
    assert blame.lost_questions(trial, made, store, chosen) == every[:1]
    assert blame.lost_questions(trial, made, store, ()) == ()
    with pytest.raises(ConfigError, match="q99"):
        blame.lost_questions(trial, made, store, ["q99"])


def test_a_wrong_answer_is_blamed_on_the_reader_if_all_evidence_was_read(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    trial = made.trials[-1]
    lost = {each.query_id: each.stage for each in blame.lost_questions(trial, made, store)}
    with_answers = {each.query_id: each.stage for each in blame.lost_questions(trial, made, store, wrong=_ids(trial))}
    assert with_answers == {query_id: lost.get(query_id, ANSWER) for query_id in _ids(trial) if query_id != "q5"}
    assert ANSWER in with_answers.values()


def test_an_answer_is_wrong_without_a_reference_and_with_low_scores() -> None:
    example = Example(Query("q", "When?"), (), ("at seven",))
    assert blame.is_wrong(Reply("It leaves at eight."), example, {"token_f1": 0.4})
    assert not blame.is_wrong(Reply("It leaves At seven!"), example, {"token_f1": 0.4})
    assert not blame.is_wrong(Reply("It leaves at eight."), example, {"token_f1": 0.4, "exact_match": 0.5})
    assert not blame.is_wrong(Reply("It leaves at eight."), example, {})
