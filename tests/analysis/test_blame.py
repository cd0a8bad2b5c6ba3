"""Blame: against a reference that counts characters one by one, and by breaking one stage at a time."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_set import write_experiment, write_golden

from rag.analysis import blame
from rag.analysis.blame.corridor import STAGES, Ground, Steps, fallen
from rag.config.experiment import load
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.core.rankings import Rankings
from rag.core.types import Document, Evidence, Example, Query, Reply, Span
from rag.evaluation.scoring import Scores, gold_table, judge
from rag.execution.graph.plan import Plan
from rag.execution.graph.stage_inputs import replies_of
from rag.execution.store.store import Entry, Store
from rag.execution.sweep import sweep

(MISSING, PARSER, REDACTION, NOISE, CHUNKER, CANDIDATES, LOW, FUSION, RERANKING, SELECTOR, PROMPT, ANSWER) = STAGES


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
    optional = [draw(st.none() | ranking) for _ in range(3)]
    cuts = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    return Case(corpus, example, indexes, draw(ranking), *optional, draw(st.sampled_from([0.3, 0.5, 0.8, 1.0])), *cuts)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_the_reference_agrees(case: Case) -> None:
    assert blamed(case) == [Reference(case, group).stage() for group in case.example.evidence]


@settings(max_examples=50, deadline=None)
@given(cases())
def test_a_group_is_lost_if_and_only_if_it_is_not_read(case: Case) -> None:
    gold = gold_table(case.corpus, [case.example], case.coverage)
    final = next(row for row in (case.selected, case.reranked, case.fused) if row is not None)
    ranks = judge(packed(final), gold).group_ranks[0]
    kept = (ranks > 0) & (ranks <= case.k)
    if case.contexts is not None:
        kept &= judge(packed(case.contexts), gold).group_ranks[0] > 0
    assert [stage is None for stage in blamed(case)] == kept[: len(case.example.evidence)].tolist()


@st.composite
def sound(draw: st.DrawFn) -> Case:
    """A question whose one piece of gold, chunk 0, stands within k at every step, among eleven other chunks."""
    corpus = Corpus.of([Document("d", "x" * 120)], [Span("d", start, start + 10) for start in range(0, 120, 10)])
    gold = draw(st.sampled_from([Span("d", 0, 10), Span("d", 2, 9)]))
    k = draw(st.integers(1, 3))
    rerank_depth = draw(st.integers(k, 6))

    def ranking() -> list[int]:
        others = draw(st.permutations(range(1, 12)))
        place = draw(st.integers(0, k - 1))
        return [*others[:place], 0, *others[place:]]

    steps = [ranking() for _ in range(5)]
    example = Example(Query("q", "?"), (Evidence((gold,)),))
    indexes = dict(zip(("words", "vectors"), steps[:2], strict=True))
    return Case(corpus, example, indexes, *steps[2:], steps[4][:k], 0.5, k, rerank_depth)


def without(row: Sequence[int]) -> list[int]:
    return [position for position in row if position]


def last(row: Sequence[int]) -> list[int]:
    return [*without(row), 0]


@settings(max_examples=60, deadline=None)
@given(sound(), st.sampled_from([last, without]), st.booleans())
def test_the_stage_that_is_broken_is_blamed(case: Case, breaks: Callable[[Sequence[int]], list[int]], both: bool) -> None:
    contexts = without(case.contexts or [])
    rows = {name: breaks(row) for name, row in case.indexes.items()}
    late = {step: breaks(getattr(case, step)) for step in ("fused", "reranked", "selected")}
    assert blamed(case) == [None]
    assert blamed(replace(case, contexts=contexts)) == [PROMPT]
    assert blamed(replace(case, selected=late["selected"], contexts=contexts)) == [SELECTOR]
    assert blamed(replace(case, reranked=late["reranked"], selected=late["selected"], contexts=contexts)) == [RERANKING]
    assert blamed(replace(case, **late, contexts=contexts)) == [FUSION]
    missed = {name: without(row) for name, row in case.indexes.items()}
    gone = {step: without(getattr(case, step)) for step in ("fused", "reranked", "selected")}
    assert blamed(replace(case, indexes=missed, **gone, contexts=contexts)) == [CANDIDATES]
    low = rows if both else missed | {"words": last(case.indexes["words"])}
    assert blamed(replace(case, indexes=low, **late, contexts=contexts)) == [CANDIDATES if both and breaks is without else LOW]
    absent = Example(Query("q", "?"), (Evidence((Span("gone", 0, 9),)),))
    assert blamed(replace(case, example=absent, indexes=missed)) == [MISSING]


@settings(max_examples=30, deadline=None)
@given(sound())
def test_a_chunker_that_leaves_no_chunk_with_enough_of_the_gold(case: Case) -> None:
    torn = Example(Query("q", "?"), (Evidence((Span("d", 0, 60),)),))  # six chunks: three are needed, at most two are read
    late = [0, *range(6, 12), 1, 2]
    rows = dict.fromkeys(case.indexes, late)
    many = replace(case, example=torn, indexes=rows, fused=late, reranked=late, selected=late, contexts=late[:2], k=2)
    assert blamed(many) == [CHUNKER]


@settings(max_examples=30, deadline=None)
@given(sound())
def test_a_reranker_that_leaves_gold_beyond_k(case: Case) -> None:
    behind = [*range(1, 7), 0, *range(7, 12)]
    rows = dict.fromkeys(case.indexes, behind)
    given_it = replace(case, indexes=rows, fused=behind, reranked=behind, selected=None, contexts=None, rerank_depth=7)
    assert blamed(given_it) == [RERANKING]
    assert blamed(replace(given_it, rerank_depth=6)) == [LOW]
    assert blamed(replace(given_it, reranked=None)) == [LOW]


def test_documents_count_once_in_a_ranking_and_chunk_by_chunk_in_a_prompt() -> None:
    corpus = Corpus.of(
        [Document("a", "a" * 30), Document("b", "b" * 10)], [*(Span("a", n, n + 10) for n in (0, 10, 20)), Span("b", 0, 10)]
    )
    row = [0, 1, 2, 3]
    example = Example(Query("q", "?"), (Evidence(("b",)),))
    case = Case(corpus, example, {"words": row}, row, k=2)
    assert blamed(case) == [None]
    assert blamed(replace(case, contexts=[0, 1])) == [PROMPT]


def test_fusion_is_blamed_for_halves_only_if_one_index_had_both() -> None:
    corpus = Corpus.of([Document("d", "x" * 60)], [Span("d", start, start + 10) for start in range(0, 60, 10)])
    example = Example(Query("q", "?"), (Evidence((Span("d", 0, 20),)),))
    both = Case(corpus, example, {"words": [0, 1, 2, 3], "vectors": [4, 5]}, [0, 4, 2, 1], coverage=1.0)
    assert blamed(both) == [FUSION]
    apart = replace(both, indexes={"words": [0, 2, 1, 3], "vectors": [4, 5]})
    assert blamed(apart) == [CHUNKER]
    assert blamed(replace(apart, coverage=0.5, indexes={"words": [4, 0]}, fused=[4, 3, 0])) == [FUSION]
    # A selector that repairs the loss of fusion clears it.
    example = Example(Query("q", "?"), (Evidence((Span("d", 0, 10),)),))
    case = Case(corpus, example, {"words": [0, 1, 2]}, [1, 2, 0], selected=[0, 1, 2])
    assert blamed(case) == [None]
    assert blamed(replace(case, contexts=[1, 2])) == [PROMPT]


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


def scores_of(made: Plan, store: Store, number: int) -> Scores:
    entry = store.read(made.stages[made.trials[number].ends.score].entry)
    assert entry
    return Scores.from_arrays(entry.arrays)


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


def test_wrong_answers_of_a_trial(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    trial = made.trials[0]
    replies = replies_of(store.read(made.stages[str(trial.ends.check)].entry) or Entry(meta={"answers": [], "read": []}))
    said = {name: reply.text.lower() for name, reply in zip(_ids(trial), replies, strict=True)}
    references = {"q1": "seven", "q2": "four crowns", "q4": "thirty days", "q6": "no"}
    f1 = dict(zip(_ids(trial), scores_of(made, store, 0).column("token_f1"), strict=True))
    wrong = blame.wrong(trial, made, store)
    assert wrong
    assert wrong <= references.keys(), "an answer without a reference cannot be wrong"
    for name in references:
        words = said[name].replace(".", " ").split()
        stands = all(word in words for word in references[name].split())
        assert (name in wrong) == (not stands and f1[name] < 0.5), said[name]


def test_counts_are_in_the_order_of_the_pipeline() -> None:
    lost = [blame.Lost("a", FUSION, 0), blame.Lost("b", MISSING, 0), blame.Lost("c", FUSION, 1)]
    assert list(blame.counts(lost)) == list(STAGES)
    assert blame.counts(lost)[FUSION] == 2
    assert json.dumps(blame.counts([])) == json.dumps(dict.fromkeys(STAGES, 0))


def test_a_trial_without_scores_is_refused(ran: tuple[Plan, Store], tmp_path: Path) -> None:
    made, _ = ran
    with pytest.raises(DataError, match="has no scores"):
        blame.lost_questions(made.trials[0], made, Store(str(tmp_path / "empty")))
