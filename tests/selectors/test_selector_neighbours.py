"""Hits with what stands around them."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus import Corpus
from rag.errors import ConfigError
from rag.rankings import Rankings
from rag.records import Document, Span
from rag.selectors.neighbours import NeighboursSelector

Row = list[tuple[int, float]]


def corpus_of(*sections: tuple[str, int]) -> Corpus:
    """One document per letter; `("aA", 3)` is three chunks of document a under the heading A (no heading for `-`)."""
    texts: dict[str, str] = {}
    spans = []
    for (doc_id, heading), count in sections:
        text = texts.get(doc_id, "")
        for number in range(count):
            chunk = f"# {heading}\n" if number == 0 and heading != "-" else "text\n"
            spans.append(Span(doc_id, len(text), len(text) + len(chunk)))
            text += chunk
        texts[doc_id] = text
    return Corpus.of([Document(doc_id, text) for doc_id, text in texts.items()], spans)


def widened(row: Row, corpus: Corpus, before: int = 1, after: int = 1) -> Row:
    return NeighboursSelector(before, after).select(Rankings.pack([row]), corpus).row(0)


def by_hand(row: Row, corpus: Corpus, before: int, after: int) -> Row:
    """The rule, one chunk at a time."""
    out: Row = []
    for position, score in row:
        group = [position]
        for step, count in ((-1, before), (1, after)):
            at = position
            for _ in range(count):
                at += step
                if not 0 <= at < len(corpus) or corpus.doc[at] != corpus.doc[position]:
                    break
                if corpus.section(at) != corpus.section(position):
                    break
                group.append(at)
        out += [(at, score) for at in sorted(group) if at not in {seen for seen, _ in out}]
    return sorted(out, key=lambda hit: (-hit[1], hit[0]))


def test_a_group_stands_in_reading_order_with_the_score_of_its_hit() -> None:
    assert widened([(3, 0.9), (7, 0.5)], corpus_of(("a-", 10))) == [
        (2, 0.9),
        (3, 0.9),
        (4, 0.9),
        (6, 0.5),
        (7, 0.5),
        (8, 0.5),
    ]


def test_other_documents_are_no_neighbours() -> None:
    corpus = corpus_of(("a-", 2), ("b-", 2))
    assert widened([(1, 1.0)], corpus) == [(0, 1.0), (1, 1.0)]
    assert widened([(2, 1.0)], corpus) == [(2, 1.0), (3, 1.0)]


def test_other_sections_are_no_neighbours() -> None:
    corpus = corpus_of(("aA", 2), ("aB", 1), ("aA", 2))
    assert widened([(1, 1.0)], corpus, 3, 3) == [(0, 1.0), (1, 1.0)]
    assert widened([(2, 1.0)], corpus, 3, 3) == [(2, 1.0)], "a section between ends the neighbourhood"


def test_a_chunk_of_an_earlier_group_is_not_repeated() -> None:
    corpus = corpus_of(("a-", 6))
    assert widened([(3, 0.9), (2, 0.8), (4, 0.7)], corpus) == [(2, 0.9), (3, 0.9), (4, 0.9), (1, 0.8), (5, 0.7)]


def test_equal_scores_are_one_group() -> None:
    assert [at for at, _ in widened([(1, 0.5), (5, 0.5)], corpus_of(("a-", 7)))] == [0, 1, 2, 4, 5, 6]


def test_sides_are_counted_apart() -> None:
    corpus = corpus_of(("a-", 9))
    assert [at for at, _ in widened([(4, 1.0)], corpus, 0, 2)] == [4, 5, 6]
    assert [at for at, _ in widened([(4, 1.0)], corpus, 3, 0)] == [1, 2, 3, 4]
    assert widened([(4, 1.0), (1, 0.5)], corpus, 0, 0) == [(4, 1.0), (1, 0.5)]


@given(st.data(), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=150)
def test_whole_batches_follow_the_rule(data: st.DataObject, before: int, after: int) -> None:
    sections = st.lists(st.tuples(st.sampled_from(["aA", "aB", "bA", "b-", "cC"]), st.integers(1, 4)), min_size=1, max_size=6)
    corpus = corpus_of(*data.draw(sections))
    hits = st.dictionaries(st.integers(0, len(corpus) - 1), st.sampled_from([0.1, 0.2, 0.3]), max_size=6)
    rows = [sorted(row.items(), key=lambda hit: (-hit[1], hit[0])) for row in data.draw(st.lists(hits, min_size=1, max_size=4))]
    selected = NeighboursSelector(before, after).select(Rankings.pack(rows), corpus)
    assert [selected.row(number) for number in range(len(rows))] == [by_hand(row, corpus, before, after) for row in rows]
    assert selected.positions.shape[1] == max(len(selected.row(number)) for number in range(len(rows)))


@pytest.mark.bench
def test_a_batch_is_fast() -> None:
    corpus = corpus_of(*[(f"{letter}{heading}", 30) for letter in "abcdefghij" for heading in "ABCDEFGHIJ"])
    rng = np.random.default_rng(7)
    places = np.array([rng.choice(len(corpus), 100, replace=False) for _ in range(276)])
    rankings = Rankings.ordered(places, rng.random(places.shape), 100)
    begun = time.perf_counter()
    NeighboursSelector().select(rankings, corpus)
    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize("value", [-1, 1.5, True, "1"])
@pytest.mark.parametrize("name", ["before", "after"])
def test_impossible_parameters_are_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        NeighboursSelector(**{name: value})
    assert caught.value.where == f"selector.{name}"
