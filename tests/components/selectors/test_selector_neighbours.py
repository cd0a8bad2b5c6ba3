"""Hits with their neighbours."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.selectors.neighbours import NeighboursSelector
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.types import Document, Span

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


def ranked(row: Row, corpus: Corpus, before: int = 1, after: int = 1) -> list[tuple[int, int]]:
    """Positions with their ranks."""
    selected = NeighboursSelector(before, after).select(Rankings.pack([row]), corpus)
    return [(position, rank) for position, (rank, _) in selected.placed(0).items()]


def by_hand(row: Row, corpus: Corpus, before: int, after: int) -> dict[int, tuple[int, float]]:
    """The rule, one chunk at a time, for chunks that are lines."""

    def section(at: int) -> tuple[int, int]:
        doc = int(corpus.doc[at])
        return doc, corpus.documents[doc].text[: int(corpus.end[at])].count("#")

    out: dict[int, tuple[int, float]] = {}
    for rank, (position, score) in enumerate(row, 1):
        around = [position, *range(position - before, position), *range(position + 1, position + after + 1)]
        for at in around:
            if 0 <= at < len(corpus) and section(at) == section(position):
                out.setdefault(at, (rank, score))
    return out


def test_neighbours_follow_their_hit_with_its_rank_and_score() -> None:
    corpus = corpus_of(("a-", 10))
    assert widened([(3, 0.9), (7, 0.5)], corpus) == [(3, 0.9), (2, 0.9), (4, 0.9), (7, 0.5), (6, 0.5), (8, 0.5)]
    assert ranked([(3, 0.9), (7, 0.5)], corpus) == [(3, 1), (2, 1), (4, 1), (7, 2), (6, 2), (8, 2)]


def test_a_cut_counts_hits() -> None:
    """Five hits that lie apart bring fifteen passages, the first of them the first hit."""
    corpus = corpus_of(("a-", 40))
    hits = [(30, 0.9), (5, 0.8), (20, 0.7), (10, 0.6), (15, 0.5), (35, 0.4)]
    selected = NeighboursSelector().select(Rankings.pack([hits]), corpus).first(5)
    assert [position for position, _ in selected.row(0)] == [30, 29, 31, 5, 4, 6, 20, 19, 21, 10, 9, 11, 15, 14, 16]


def test_other_documents_are_no_neighbours() -> None:
    corpus = corpus_of(("a-", 2), ("b-", 2))
    assert widened([(1, 1.0)], corpus) == [(1, 1.0), (0, 1.0)]
    assert widened([(2, 1.0)], corpus) == [(2, 1.0), (3, 1.0)]


def test_other_sections_are_no_neighbours() -> None:
    corpus = corpus_of(("aA", 2), ("aB", 1), ("aA", 2))
    assert widened([(1, 1.0)], corpus, 3, 3) == [(1, 1.0), (0, 1.0)]
    assert widened([(2, 1.0)], corpus, 3, 3) == [(2, 1.0)], "a section between ends the neighbourhood"


SECTIONS = "# A\naaa\naaaa\n# B\nbbb\nbbbb\n"


@pytest.mark.parametrize(
    ("cuts", "shared"),
    [
        ((0, 8, 12, 25), "01"),  # A heading begins the third chunk.
        ((0, 8, 17, 25), "01"),  # It ends the second chunk, and nothing of what it says.
        ((0, 8, 21, 26), "01 12"),  # The second chunk has text of both sections.
        ((0, 4, 8, 13), "01 12"),  # A chunk that is a heading alone has that section.
    ],
)
def test_neighbours_have_text_of_one_section(cuts: tuple[int, ...], shared: str) -> None:
    corpus = Corpus.of([Document("d", SECTIONS)], [Span("d", *edges) for edges in pairwise(cuts)])
    found = {f"{min(hit, at)}{max(hit, at)}" for hit in range(3) for at, _ in widened([(hit, 1.0)], corpus) if at != hit}
    assert found == set(shared.split())


def test_chunks_that_overlap_share_what_both_hold() -> None:
    corpus = Corpus.of([Document("d", SECTIONS)], [Span("d", 0, 22), Span("d", 8, 25)])
    assert [at for at, _ in widened([(0, 1.0)], corpus)] == [0, 1]


def test_a_chunk_occurs_once_at_its_best_rank() -> None:
    corpus = corpus_of(("a-", 6))
    assert ranked([(3, 0.9), (2, 0.8), (4, 0.7)], corpus) == [(3, 1), (2, 1), (4, 1), (1, 2), (5, 3)]
    assert ranked([(1, 0.9), (0, 0.8), (4, 0.7)], corpus, 1, 0) == [(1, 1), (0, 1), (4, 3), (3, 3)], "a rank may be missing"


def test_equal_scores_keep_their_ranks() -> None:
    assert ranked([(1, 0.5), (5, 0.5)], corpus_of(("a-", 7))) == [(1, 1), (0, 1), (2, 1), (5, 2), (4, 2), (6, 2)]


def test_sides_are_counted_apart() -> None:
    corpus = corpus_of(("a-", 9))
    assert [at for at, _ in widened([(4, 1.0)], corpus, 0, 2)] == [4, 5, 6]
    assert [at for at, _ in widened([(4, 1.0)], corpus, 3, 0)] == [4, 1, 2, 3]
    assert widened([(4, 1.0), (1, 0.5)], corpus, 0, 0) == [(4, 1.0), (1, 0.5)]


def test_neighbours_of_neighbours_belong_to_the_hit() -> None:
    corpus = corpus_of(("a-", 9))
    once = NeighboursSelector(0, 1).select(Rankings.pack([[(2, 1.0), (6, 0.5)]]), corpus)
    twice = NeighboursSelector(0, 1).select(once, corpus)
    assert twice.placed(0) == {2: (1, 1.0), 3: (1, 1.0), 4: (1, 1.0), 6: (2, 0.5), 7: (2, 0.5), 8: (2, 0.5)}


@given(st.data(), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=80)
def test_whole_batches_follow_the_rule(data: st.DataObject, before: int, after: int) -> None:
    sections = st.lists(st.tuples(st.sampled_from(["aA", "aB", "bA", "b-", "cC"]), st.integers(1, 4)), min_size=1, max_size=6)
    corpus = corpus_of(*data.draw(sections))
    hits = st.dictionaries(st.integers(0, len(corpus) - 1), st.sampled_from([0.1, 0.2, 0.3]), max_size=6)
    rows = [sorted(row.items(), key=lambda hit: (-hit[1], hit[0])) for row in data.draw(st.lists(hits, min_size=1, max_size=4))]
    selected = NeighboursSelector(before, after).select(Rankings.pack(rows), corpus)
    placed = [list(selected.placed(number).items()) for number in range(len(rows))]
    assert placed == [list(by_hand(row, corpus, before, after).items()) for row in rows]
    assert selected.positions.shape[1] == max(len(selected.row(number)) for number in range(len(rows)))
