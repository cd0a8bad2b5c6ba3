"""`k` counts hits: what a selector puts behind them is read and measured with them, and several selectors work in order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.selectors.neighbours import NeighboursSelector
from rag.components.selectors.parents import ParentsSelector
from rag.config.experiment import ad_hoc
from rag.config.validation import check
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.evaluation.gold_matching import judge
from rag.evaluation.gold_table import gold_table
from rag.execution.graph.plan import PlannedTrial
from rag.execution.graph.stage_inputs import rankings_of
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.prompt.context_packing import passages
from rag.pipeline.search.steps import select

GIVEN = [
    "dataset=native",
    "dataset.path=../golden",
    "loader.path=../golden/documents",
    "embedder=hashing",
    "chunker=fixed",
    "chunker.size=30",
    "index=[bm25s]",
    "fusion=single",
    "latency=0",
]
WIDTH = 10


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Corpus, Example, Rankings]:
    """Chunks of ten characters, spans of gold anywhere, hits with neighbours."""
    chunks = draw(st.integers(2, 9))
    text = "x" * (WIDTH * chunks)
    corpus = Corpus.of([Document("d", text)], [Span("d", at, at + WIDTH) for at in range(0, len(text), WIDTH)])
    starts = draw(st.lists(st.tuples(st.integers(0, len(text) - 2), st.integers(1, 25)), min_size=1, max_size=3))
    groups = tuple(Evidence((Span("d", start, min(start + size, len(text))),)) for start, size in starts)
    hits = draw(st.permutations(range(chunks)))[: draw(st.integers(0, chunks))]
    ranked = Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(hits)]])
    widened = NeighboursSelector(draw(st.integers(0, 2)), draw(st.integers(0, 2))).select(ranked, corpus)
    return corpus, Example(Query("q", "?"), groups), widened


def characters(corpus: Corpus, positions: Sequence[int]) -> set[int]:
    return {place for at in positions for place in range(int(corpus.start[at]), int(corpus.end[at]))}


@given(worlds())
@settings(max_examples=150)
def test_what_a_hit_brings_counts_at_its_rank(world: tuple[Corpus, Example, Rankings]) -> None:
    """Against sets of characters: at rank r all is seen that stands at a rank up to r."""
    corpus, example, ranking = world
    judged = judge(ranking, gold_table(corpus, [example]))
    placed = {position: rank for position, (rank, _) in ranking.placed(0).items()}
    last = max(placed.values(), default=0)
    assert judged.items.tolist() == [last]
    gold = [set(range(one.start, one.end)) for group in example.evidence for one in group.alternatives]  # type: ignore[union-attr]
    found = [0] * len(gold)
    for rank in range(1, last + 1):
        read = [position for position, own in placed.items() if own <= rank]
        seen = characters(corpus, read)
        assert judged.chars_seen[0, rank - 1] == len(seen)
        assert judged.chars_read[0, rank - 1] == WIDTH * len(read)
        assert judged.gold_seen[0, rank - 1] == len(seen & set().union(*gold))
        found = [at or (rank if 2 * len(seen & own) >= len(own) else 0) for at, own in zip(found, gold, strict=True)]
        here = [characters(corpus, [position]) for position, own in placed.items() if own == rank]
        relevant = any(2 * len(own & one) >= min(len(own), WIDTH) for own in gold for one in here)
        assert judged.relevant[0, rank - 1] == relevant
    assert judged.group_ranks[0].tolist() == found


@given(st.integers(1, 12), st.integers(1, 60), st.permutations(range(12)))
@settings(max_examples=60)
def test_joined_chunks_are_read_without_their_overlaps(step: int, size: int, hits: list[int]) -> None:
    """Against the lengths of the passages that a prompt shows."""
    corpus = Corpus.of([Document("d", "x" * 12 * step)], [Span("d", at * step, min(at + 3, 12) * step) for at in range(12)])
    ranked = ParentsSelector(size).select(Rankings.pack([[(hit, float(-rank)) for rank, hit in enumerate(hits)]]), corpus)
    judged = judge(ranked, gold_table(corpus, [Example(Query("q", "?"), (Evidence((Span("d", 0, 1),)),))]))
    for rank in range(1, int(judged.items[0]) + 1):
        read = sum(len(passage.chunk(corpus).text) for passage in passages(ranked.first(rank), 0, corpus))
        assert judged.chars_read[0, rank - 1] == read


def test_documents_rank_by_their_first_chunk_whatever_hits_brought() -> None:
    documents = [Document(name, "x" * 30) for name in "ab"]
    corpus = Corpus.of(documents, [Span(name, at, at + 10) for name in "ab" for at in (0, 10, 20)])
    widened = NeighboursSelector().select(Rankings.pack([[(1, 3.0), (0, 2.0), (4, 1.0)]]), corpus)
    judged = judge(widened, gold_table(corpus, [Example(Query("q", "?"), (Evidence(("b",)),))]))
    assert (judged.group_ranks.tolist(), judged.items.tolist()) == ([[2]], [2])


def test_rankings_are_cut_by_rank() -> None:
    ranked = Rankings(np.array([[4, 3, 7], [2, -1, -1]], np.int32), np.array([[2.0, 2.0, 1.0], [5.0, -np.inf, -np.inf]]))
    widened = Rankings(ranked.positions, ranked.scores, np.array([[1, 1, 3], [2, 0, 0]], np.int32))
    assert [widened.first(k).row(0) for k in (1, 2, 3)] == [[(4, 2.0), (3, 2.0)], [(4, 2.0), (3, 2.0)], widened.row(0)]
    assert widened.first(1).row(1) == []
    assert widened.first(1).positions.shape == (2, 2)
    assert widened.only(1).placed(0) == {2: (2, 5.0)}
    assert widened.take(np.array([1, 0])).placed(1) == {4: (1, 2.0), 3: (1, 2.0), 7: (3, 1.0)}
    assert widened.within(np.array([True] * 4 + [False] + [True] * 3)).placed(0) == {3: (1, 2.0), 7: (3, 1.0)}
    assert ranked.first(1).placed(0) == {4: (1, 2.0)}


def ran(*overrides: str) -> tuple[PlannedTrial, Any]:
    """A trial and its ranking, as it is stored."""
    ready = sweep.prepare(ad_hoc([*GIVEN, *overrides]))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    assert [row.error for row in done.board.rows] == [""]
    (trial,) = ready.plan.trials
    return trial, rankings_of(ready.store.read(ready.plan.stages[trial.ends.ranking].entry))  # type: ignore[arg-type]


@pytest.mark.usefixtures("here", "golden")
def test_k_hits_are_read_each_with_its_neighbours() -> None:
    trial, stored = ran("selector=neighbours", "k=2")
    plain, alone = ran("k=2")
    opened = open_config(trial.trial.config)
    query = trial.golden.examples[0].query
    trace = opened.trace(query)
    hits = [position for position, _ in trace.fused.first(2).row(0)]
    read = opened.answer_from(query, trace).contexts
    names = [hit.chunk.chunk_id for hit in read]
    assert len(names) > 2
    assert names[0] == opened.corpus.chunk(hits[0]).chunk_id, "source 1 is the first hit"
    assert {opened.corpus.chunk(position).chunk_id for position in hits} <= set(names)
    assert stored.first(2).only(0).placed(0) == trace.selected.first(2).placed(0)
    assert alone.first(2).row(0) == trace.fused.first(2).row(0)
    assert trial.trial_id != plain.trial_id


@pytest.mark.usefixtures("here", "golden")
def test_selectors_are_applied_in_their_order() -> None:
    floor = ["selector.score_floor.floor=1.0"]
    first, floored = ran("selector=[score_floor,neighbours]", *floor)
    second, widened = ran("selector=[neighbours,score_floor]", *floor)
    assert list(first.trial.config["selector"]) == ["score_floor", "neighbours"]
    assert first.trial_id != second.trial_id
    assert first.ends.ranking != second.ends.ranking, "the order stands in the key"
    assert floored.placed(0) == widened.placed(0), "a floor drops hits with what they brought"
    assert {rank for rank, _ in floored.placed(0).values()} == {1}


class Last:
    """Keeps what stands last."""

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        return rankings.where(np.arange(rankings.positions.shape[1]) == rankings.positions.shape[1] - 1)


def test_each_selector_is_given_what_the_one_before_it_left() -> None:
    corpus = Corpus.of([Document("d", "x" * 50)], [Span("d", at, at + 10) for at in range(0, 50, 10)])
    ranked, around = Rankings.pack([[(0, 2.0), (3, 1.0)]]), NeighboursSelector()
    assert select({"last": Last(), "around": around}, ranked, corpus).row(0) == [(3, 1.0), (2, 1.0), (4, 1.0)]
    assert select({"around": around, "last": Last()}, ranked, corpus).row(0) == [(4, 1.0)]
    assert select({}, ranked, corpus) is ranked


@pytest.mark.parametrize("selector", [{"_target_": "rag.components.selectors.none.NoSelector"}, None, []])
def test_a_selector_without_a_name_says_what_to_write(here: Path, golden: Path, selector: Any) -> None:
    config = {**config_of(GIVEN), "selector": selector}
    with pytest.raises(ConfigError) as caught:
        check(config)
    assert caught.value.where == "selector"
    assert "above its _target_" in caught.value.remedy
