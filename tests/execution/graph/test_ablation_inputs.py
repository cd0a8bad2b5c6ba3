"""What stands in for a part of a pipeline, against what it promises, on corpora that hypothesis makes up."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.corpus import Corpus
from rag.core.rankings import NOTHING, Rankings
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.execution.graph.ablation_inputs import gold_contexts, of_another, strangers, uncut

LONG = 60
TEXT = Document("a", "x" * LONG)


def spans(corpus: Corpus) -> list[tuple[int, int]]:
    return list(zip(corpus.start.tolist(), corpus.end.tolist(), strict=True))


def of(*borders: int) -> Corpus:
    return Corpus.of([TEXT], [Span("a", start, end) for start, end in pairwise(borders)])


def asking(*places: Span | str, query_id: str = "q", cluster: str = "") -> Example:
    return Example(Query(query_id, "?"), tuple(Evidence((place,)) for place in places), cluster=cluster)


def test_chunks_that_a_span_crosses_become_one() -> None:
    chunks = of(0, 10, 20, 30, 40)
    for places, expected in (
        ([Span("a", 8, 12)], [(0, 20), (20, 30), (30, 40)]),
        ([Span("a", 8, 12), Span("a", 18, 22)], [(0, 30), (30, 40)]),
        ([Span("a", 10, 20), Span("a", 2, 4), "a"], spans(chunks)),
    ):
        assert spans(uncut(chunks, [asking(*places)])) == expected
    either = Example(Query("q", "?"), (Evidence((Span("a", 0, 5), Span("a", 18, 22))),))
    assert spans(uncut(chunks, [either])) == [(0, 10), (10, 30), (30, 40)], "all alternatives count"


def test_of_overlapping_chunks_the_shortest_run_is_merged() -> None:
    corpus = Corpus.of([TEXT], [Span("a", 0, 20), Span("a", 15, 35), Span("a", 30, 50)])
    assert spans(uncut(corpus, [asking(Span("a", 16, 34))])) == spans(corpus)
    assert spans(uncut(corpus, [asking(Span("a", 18, 40))])) == [(0, 20), (15, 50)]


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[Corpus, list[Example]]:
    """Chunks with gaps and overlaps, starts and ends never stepping back, and gold anywhere."""
    size = draw(st.integers(1, 8))
    starts = sorted(draw(st.lists(st.integers(0, LONG - 1), min_size=size, max_size=size, unique=True)))
    ends = sorted(draw(st.lists(st.integers(1, LONG), min_size=size, max_size=size, unique=True)))
    chunks = [Span("a", start, max(start + 1, end)) for start, end in zip(starts, ends, strict=True)]
    places = st.tuples(st.integers(0, LONG - 1), st.integers(1, LONG)).filter(lambda place: place[0] < place[1])
    gold = draw(st.lists(places, max_size=4))
    return Corpus.of([TEXT], chunks), [asking(Span("a", *place)) for place in gold]


@given(cut_texts())
def test_no_border_is_left_inside_gold(case: tuple[Corpus, list[Example]]) -> None:
    corpus, examples = case
    before, after = spans(corpus), spans(uncut(corpus, examples))
    for example in examples:
        gold = example.evidence[0].alternatives[0]
        assert isinstance(gold, Span)
        touching = [chunk for chunk in before if chunk[0] < gold.end and chunk[1] > gold.start]
        if touching:
            # What the chunks hold of the gold, one chunk now holds alone.
            start, end = max(gold.start, touching[0][0]), min(gold.end, max(chunk[1] for chunk in touching))
            assert any(chunk[0] <= start and end <= chunk[1] for chunk in after)
    assert {start for start, _ in after} <= {start for start, _ in before}
    assert {end for _, end in after} <= {end for _, end in before}
    assert after == spans(uncut(uncut(corpus, examples), examples))


@given(cut_texts())
def test_merging_keeps_every_character(case: tuple[Corpus, list[Example]]) -> None:
    corpus, examples = case
    held = {place for start, end in spans(corpus) for place in range(start, end)}
    assert held <= {place for start, end in spans(uncut(corpus, examples)) for place in range(start, end)}


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=40))
def test_everyone_gets_another_and_of_another_cluster_where_that_can_be(clusters: list[str]) -> None:
    examples = [asking(query_id=f"q{row}", cluster=cluster) for row, cluster in enumerate(clusters)]
    given_to = strangers(examples).tolist()
    assert sorted(given_to) == list(range(len(clusters)))
    assert all(row != other for row, other in enumerate(given_to))
    met = sum(clusters[row] == clusters[other] for row, other in enumerate(given_to))
    assert met == max(0, 2 * max(Counter(clusters).values()) - len(clusters))


@given(st.permutations(range(9)))
def test_who_gets_whose_does_not_depend_on_the_order(order: list[int]) -> None:
    examples = [asking(query_id=f"q{row}", cluster=f"c{row // 2}") for row in range(9)]
    shuffled = [examples[row] for row in order]
    names = {e.query.query_id: examples[o].query.query_id for e, o in zip(examples, strangers(examples), strict=True)}
    assert names == {e.query.query_id: shuffled[o].query.query_id for e, o in zip(shuffled, strangers(shuffled), strict=True)}


def test_rankings_go_to_the_stranger_and_one_question_has_none() -> None:
    examples = [asking(query_id="p"), asking(query_id="q")]
    rankings = Rankings.pack([[(3, 1.0)], [(4, 2.0), (5, 1.0)]])
    assert of_another(rankings, examples).row(0) == [(4, 2.0), (5, 1.0)]
    with pytest.raises(ValueError, match="1 question"):
        strangers(examples[:1])


def test_gold_of_every_group_takes_turns_by_grade() -> None:
    documents = [TEXT, Document("b", "y" * 30)]
    corpus = Corpus.of(documents, [Span("b", 0, 10), Span("b", 10, 20), Span("b", 20, 30), Span("a", 0, 60)])
    groups = (Evidence(("b",)), Evidence((Span("a", 5, 9), Span("a", 1, 2)), grade=2))
    table, ranked = gold_contexts(corpus, [Example(Query("q", "?"), groups), asking(), asking("b")], depth=3)
    read = [[table.chunk(position).chunk_id for position, _ in ranked.row(row)] for row in range(3)]
    assert read == [["a:5-9", "b:0-10", "b:10-20"], [], ["b:0-10", "b:10-20", "b:20-30"]]
    assert (ranked.positions[1] == NOTHING).all()


def test_a_passage_that_two_groups_name_is_read_once() -> None:
    table, ranked = gold_contexts(of(0, 60), [asking(Span("a", 5, 9), Span("a", 5, 9), Span("a", 1, 2))], depth=5)
    assert [table.chunk(position).chunk_id for position, _ in ranked.row(0)] == ["a:5-9", "a:1-2"]
