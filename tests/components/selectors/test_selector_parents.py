"""Hits with the sections around them."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.passages_read import corpus_of, read

from rag.components.selectors.neighbours import NeighboursSelector
from rag.components.selectors.parents import ParentsSelector
from rag.components.selectors.window import WindowSelector
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import Selector

TEXT = "# A\na one.\na two.\na six.\n# B\nb one.\nb two.\n"


def test_a_chunk_with_text_of_two_sections_reads_both() -> None:
    corpus = corpus_of(TEXT, [0, 11, 18, 36, 43])
    assert read(ParentsSelector(), corpus, 2) == [(1, TEXT)]
    assert read(ParentsSelector(), corpus, 0) == [(1, TEXT[:36])]


def by_hand(corpus: Corpus, hit: int, size: int) -> set[int]:
    """The rule, one chunk at a time, for chunks that are lines; a heading begins its section."""
    section = np.cumsum([text.startswith("#") for text in corpus.texts])
    own = [position for position in range(len(corpus)) if section[position] == section[hit]]
    first, last = int(corpus.start[own[0]]), int(corpus.end[own[-1]])
    begin = max(first, min(int(corpus.start[hit] + corpus.end[hit]) // 2 - size // 2, last - size))
    return {hit} | {at for at in own if corpus.start[at] >= begin and corpus.end[at] <= begin + size}


@given(st.lists(st.sampled_from(["# A\n", "x\n", "long line\n"]), min_size=1, max_size=12), st.integers(1, 40), st.data())
@settings(max_examples=60)
def test_drawn_sections_follow_the_rule(lines: list[str], size: int, data: st.DataObject) -> None:
    edges = np.cumsum([0, *map(len, lines)]).tolist()
    corpus = corpus_of("".join(lines), edges)
    hits = data.draw(st.lists(st.integers(0, len(corpus) - 1), unique=True, min_size=1, max_size=4))
    ranked = Rankings.pack([[(position, -float(rank)) for rank, position in enumerate(hits, 1)]])
    expected: dict[int, int] = {}
    for rank, hit in enumerate(hits, 1):
        expected |= {at: rank for at in by_hand(corpus, hit, size) if at not in expected}
    placed = ParentsSelector(size).select(ranked, corpus).placed(0)
    assert {position: rank for position, (rank, _) in placed.items()} == expected


@pytest.mark.parametrize("selector", [ParentsSelector(), WindowSelector(), NeighboursSelector(1000, 1000)])
def test_a_section_of_100_000_chunks_is_widened_in_bounded_time(selector: Selector) -> None:
    text = "One sentence of it.\n" * 100_000
    corpus = corpus_of(text, list(range(0, len(text) + 1, 20)))
    ranked = Rankings.pack([[(position, 1.0) for position in range(0, 100_000, 1000)]] * 3)
    begun = time.process_time()
    selected = selector.select(ranked, corpus)
    assert time.process_time() - begun < 4
    assert selected.positions.shape[1] <= 100_000
