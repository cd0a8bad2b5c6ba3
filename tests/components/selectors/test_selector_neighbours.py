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


def widened(row: Row, corpus: Corpus) -> Row:
    return NeighboursSelector().select(Rankings.pack([row]), corpus).row(0)


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
