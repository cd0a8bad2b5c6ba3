"""Headroom: the perfect order against all permutations, the perfect chunker against the trial with that control."""

import shutil
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_set import write_experiment, write_golden

from rag.analysis import headroom
from rag.analysis.blame.reader import Reader
from rag.analysis.headroom import CHUNKER, ORDER, READER, Headroom, sentence
from rag.analysis.headroom.order import perfect_order, pool
from rag.components.metrics.hit import Hit
from rag.components.metrics.map import AveragePrecision
from rag.components.metrics.mrr import ReciprocalRank
from rag.components.metrics.ndcg import DiscountedGain
from rag.components.metrics.recall import Recall
from rag.config.experiment import load
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.core.rankings import Rankings
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.evaluation.scoring import gold_table, judge, score
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep, trial_scores

METRICS = {"recall": Recall(), "hit": Hit(), "map": AveragePrecision(), "mrr": ReciprocalRank(), "ndcg": DiscountedGain()}
COLUMNS = [f"{name}@{cut}" for name in METRICS for cut in range(1, 6)]


def packed(rows: Sequence[Sequence[int]]) -> Rankings:
    return Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(row)] for row in rows])


def scored(rows: Sequence[Sequence[int]], corpus: Corpus, example: Example, coverage: float) -> np.ndarray:
    """Every order of one question in every column."""
    examples = [example] * len(rows)
    judged = judge(packed(rows), gold_table(corpus, examples, coverage))
    return score(judged, None, examples, METRICS, COLUMNS, 5).values


def best(row: Sequence[int], corpus: Corpus, example: Example, coverage: float = 0.5) -> list[int]:
    gold = gold_table(corpus, [example], coverage)
    return [position for position, _ in perfect_order(packed([row]), corpus, [example], gold).row(0)]


def example(*groups: tuple[int, Sequence[Span | str]]) -> Example:
    return Example(Query("q", "?"), tuple(Evidence(tuple(places), grade) for grade, places in groups))


SIX = Corpus.of([Document("d", "x" * 60)], [Span("d", start, start + 10) for start in range(0, 60, 10)])


def spans(*groups: tuple[int, int, int]) -> Example:
    """A question with one span of document d per group: grade, start and end."""
    return example(*((grade, [Span("d", start, end)]) for grade, start, end in groups))


@pytest.mark.parametrize(
    ("asked", "row", "coverage", "order"),
    [
        # the greatest grade first
        (spans((1, 0, 10), (3, 20, 30), (2, 40, 50)), [5, 4, 3, 2, 1, 0], 0.5, [2, 4, 0, 5, 3, 1]),
        # a chunk for two groups before a chunk for one
        (spans((1, 0, 10), (1, 20, 24), (1, 25, 30)), [5, 4, 3, 2, 1, 0], 0.5, [2, 0, 5, 4, 3, 1]),
        # chunks that are needed together after a chunk that is enough alone
        (spans((1, 0, 20), (1, 50, 60)), [0, 3, 1, 4, 5, 2], 1.0, [5, 0, 1, 3, 4, 2]),
        # the smaller set first, then the greater grade
        (spans((1, 0, 30), (1, 40, 60)), [0, 1, 2, 3, 4, 5], 1.0, [4, 5, 0, 1, 2, 3]),
        (spans((1, 0, 20), (2, 40, 60)), [0, 1, 2, 3, 4, 5], 1.0, [4, 5, 0, 1, 2, 3]),
        # groups that cannot be satisfied: relevant chunks first
        (example((1, [Span("d", 0, 30)]), (1, ["elsewhere"])), [5, 1, 4], 0.8, [1, 5, 4]),
        (example(), [4, 2, 0], 0.5, [4, 2, 0]),
    ],
)
def test_the_perfect_order_by_hand(asked: Example, row: list[int], coverage: float, order: list[int]) -> None:
    assert best(row, SIX, asked, coverage) == order


def test_a_pool_is_the_union_in_the_order_of_the_rankings() -> None:
    assert pool([packed([[3, 1], []]), packed([[1, 2], [0]])]).positions.tolist() == [[3, 1, 2], [0, -1, -1]]


DOCUMENTS = tuple(Document(name, name * 40) for name in "abc")


@st.composite
def apart(draw: st.DrawFn) -> tuple[Corpus, Example, list[int]]:
    """Chunks of ten characters of which none holds gold of two groups; every span of gold lies in one chunk."""
    corpus = Corpus.of(DOCUMENTS, [Span(name, start, start + 10) for name in "abc" for start in range(0, 40, 10)])
    homes = draw(st.permutations(range(12)))
    groups = []
    for number in range(draw(st.integers(1, 4))):
        places = []
        for home in homes[number * 2 : number * 2 + draw(st.integers(1, 2))]:
            start = int(corpus.start[home]) + draw(st.integers(0, 4))
            places.append(Span("abc"[home // 4], start, start + draw(st.integers(1, 6))))
        groups.append((draw(st.integers(1, 3)), places))
    return corpus, example(*groups), draw(st.lists(st.sampled_from(range(12)), unique=True, min_size=1, max_size=5))


@settings(max_examples=80, deadline=None)
@given(apart())
def test_no_order_is_better_where_no_chunk_holds_gold_of_two_groups(case: tuple[Corpus, Example, list[int]]) -> None:
    corpus, asked, row = case
    orders = [list(order) for order in permutations(row)]
    every = scored([best(row, corpus, asked), *orders], corpus, asked, 0.5)
    np.testing.assert_allclose(every[0], every[1:].max(axis=0))


AXES = """\
  chunker: ["chunker=fixed chunker.size=10 chunker.overlap=0", "chunker=recursive chunker.size=80"]
  search: ["index=[bm25s] fusion=single", "index=[bm25s,dense]"]
  control: control=none,perfect_chunker,closed_book"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Store]:
    """A small grid that generates answers, run to its end; every trial is also there with perfect chunks."""
    folder = tmp_path_factory.mktemp("ran")
    path = write_experiment(folder / "small.yaml", write_golden(folder / "golden"), AXES, ", depth=4, k=2")
    path.write_text(path.read_text("utf-8").replace("generator=none", "generator=extractive"), "utf-8")
    ready = sweep.prepare(load(str(path), ["split=all", f"store={folder / 'store'}"]))
    sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None)
    return ready.plan, ready.store


def column_of(made: Plan, store: Store, number: int, column: str) -> np.ndarray:
    return trial_scores.read_scores(made.trials[number], made, store).scores.column(column)


@pytest.mark.parametrize("column", ["ndcg@10", "recall@5", "token_f1"])
def test_a_perfect_chunker_is_the_trial_of_that_control(ran: tuple[Plan, Store], column: str) -> None:
    made, store = ran
    for number in range(0, 12, 3):
        gained = headroom.differences(made.trials[number], made, store, column)[CHUNKER]
        wanted = column_of(made, store, number + 1, column) - column_of(made, store, number, column)
        np.testing.assert_allclose(gained, wanted)
    assert np.nanmean(headroom.differences(made.trials[0], made, store, "recall@5")[CHUNKER]) > 0


def test_a_perfect_reader_gives_the_reference_if_all_evidence_was_read(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    trial = made.trials[6]
    gained = headroom.differences(trial, made, store, "exact_match")[READER]
    own, read = column_of(made, store, 6, "exact_match"), column_of(made, store, 6, "recall@5")
    reader = Reader(made, store)
    ranks = reader.group_ranks(trial, trial.ends.ranking, 0)
    there = ((ranks != 0) & (ranks <= 2)).all(axis=1) & ~np.isnan(read)
    wanted = np.where(np.isnan(own), np.nan, np.where(there, 1.0 - own, 0.0))
    np.testing.assert_array_equal(gained, wanted)
    assert np.nansum(gained) > 0


def test_parts_by_what_the_column_measures(ran: tuple[Plan, Store]) -> None:
    made, store = ran
    plain, uncut, closed = made.trials[:3]
    assert [each.part for each in headroom.measure_headroom(plain, made, store, "ndcg@10")] == [ORDER, CHUNKER]
    assert [each.part for each in headroom.measure_headroom(plain, made, store, "token_f1")] == [CHUNKER, READER]
    assert [each.part for each in headroom.measure_headroom(uncut, made, store, "ndcg@10")] == [ORDER]
    assert headroom.measure_headroom(closed, made, store, "token_f1") == ()


def test_the_second_time_runs_nothing(ran: tuple[Plan, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    made, store = ran
    first = headroom.measure_headroom(made.trials[0], made, store, "ndcg@10")
    for part in first:
        assert part.low <= part.mean <= part.high
        assert set(part.to_json()) == {"part", "mean", "low", "high"}
    monkeypatch.setattr(Store, "write", lambda *_: pytest.fail("something ran"))
    assert headroom.measure_headroom(made.trials[0], made, store, "ndcg@10") == first


def test_paid_replies_are_not_requested(ran: tuple[Plan, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, store = ran[0], Store(str(shutil.copytree(ran[1].root, tmp_path / "copy")))
    monkeypatch.setattr("rag.components.generators.extractive.ExtractiveGenerator.costly", True, raising=False)
    assert set(headroom.differences(made.trials[0], made, store, "ndcg@10")) == {ORDER, CHUNKER}
    for gone in (made.trials[1].ends.generate, made.trials[1].ends.check):
        store.remove(made.stages[str(gone)].entry)
    store.remove(made.stages[made.trials[1].ends.score].entry)
    assert set(headroom.differences(made.trials[0], made, store, "exact_match")) == {READER}


def test_bad_input(ran: tuple[Plan, Store], tmp_path: Path) -> None:
    made, store = ran
    with pytest.raises(ConfigError, match=r"(?s)ndcg@11.*did you mean 'ndcg@10'"):
        headroom.measure_headroom(made.trials[0], made, store, "ndcg@11")
    with pytest.raises(DataError, match="has no scores"):
        headroom.measure_headroom(made.trials[0], made, Store(str(tmp_path / "empty")), "ndcg@10")


def test_the_sentence() -> None:
    nothing = float("nan")
    order, chunker = Headroom(ORDER, 0.0904, 0.05, 0.13), Headroom(CHUNKER, 0.02, 0.01, 0.03)
    assert sentence([chunker, order]) == "Your order of candidates leaves .09 on the table, your chunker .02."
    unsure = Headroom(READER, 0.05, -0.01, 0.1)
    assert sentence([unsure]) == "Your reader leaves nothing that shows on the table."
    unknown = sentence([Headroom(ORDER, 0.2, nothing, nothing)])
    assert unknown == "Your order of candidates leaves nothing that shows on the table."
    assert sentence([]) == ""
