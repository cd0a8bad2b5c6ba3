"""Packing: a prefix of the ranking in whole groups, a first group that always goes in, spans that are those of the texts."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.text.tokens import borders, count
from rag.core.types import Document, Span
from rag.pipeline.prompt import context_packing
from rag.pipeline.prompt.context_packing import Packed, hits, passages

WORDS = "one two three four five six"
"""Six tokens."""


def corpus_of(*lengths: int, docs: int = 2) -> Corpus:
    """Documents of the same chunks, each of so many words of one token."""
    text = "".join("word " * length for length in lengths)
    documents = [Document(f"d{number}", text) for number in range(docs)]
    edges = np.cumsum([0, *(5 * length for length in lengths)]).tolist()
    spans = [Span(one.doc_id, start, end - 1) for one in documents for start, end in pairwise(edges)]
    return Corpus.of(documents, spans)


def pack(ranked: Sequence[tuple[int, float]], corpus: Corpus, tokens: int | None, ranks: Sequence[int] = ()) -> Packed:
    """What is packed of chunks in their order, each a passage."""
    return context_packing.pack(passages(ranking(ranked, ranks), 0, corpus), corpus, tokens)


def ranking(ranked: Sequence[tuple[int, float]], ranks: Sequence[int] = (), joined: bool = False) -> Rankings:
    packed = Rankings.pack([ranked])
    given = np.array([ranks], np.int32) if ranks else None
    return Rankings(packed.positions, packed.scores, given, np.full(packed.positions.shape, True) if joined else None)


def test_groups_go_in_whole_or_not_at_all() -> None:
    ranked = [(0, 0.9), (4, 0.8), (3, 0.8), (2, 0.1)]  # one chunk, then a hit with a neighbour, then one: 2, 3 + 2, 4 tokens
    corpus = corpus_of(2, 3, 4)
    assert [len(pack(ranked, corpus, tokens, (1, 2, 2, 3)).read) for tokens in (2, 6, 7, 10, 11)] == [1, 1, 3, 3, 4]
    assert pack(ranked, corpus, 6, (1, 2, 2, 3)).left_out == ((4, 0.8), (3, 0.8), (2, 0.1))


def test_the_first_group_goes_in_cut_behind_its_last_token() -> None:
    packed = pack([(1, 0.9), (3, 0.2)], corpus_of(2, 6, 2), 4)
    assert packed.texts == ("word word word word",)
    assert packed.chunks[0].chunk_id == "d0:10-29"
    assert packed.read == ((1, 0.9),)
    assert packed.left_out == ((3, 0.2),)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[Corpus, list[tuple[int, float]], list[int]]:
    corpus = corpus_of(*draw(st.lists(st.integers(1, 9), min_size=1, max_size=6)))
    positions = draw(st.lists(st.integers(0, len(corpus) - 1), unique=True, max_size=8))
    ranks = sorted(draw(st.lists(st.integers(1, 5), min_size=len(positions), max_size=len(positions))))
    return corpus, [(position, 1 / rank) for position, rank in zip(positions, ranks, strict=True)], ranks


@given(rankings(), st.integers(1, 40), st.integers(0, 20))
def test_laws(given: tuple[Corpus, list[tuple[int, float]], list[int]], tokens: int, more: int) -> None:
    corpus, ranked, ranks = given
    packed = pack(ranked, corpus, tokens, ranks)
    assert sorted((*packed.read, *packed.left_out)) == sorted(ranked)
    assert sum(map(count, packed.texts)) <= tokens
    assert bool(packed.read) == bool(ranked)
    for (position, _), chunk, text in zip(packed.read, packed.chunks, packed.texts, strict=True):
        whole = corpus.chunk(position)
        assert chunk.span.start == whole.span.start
        assert text == chunk.text == corpus.documents[int(corpus.doc[position])].text[chunk.span.start : chunk.span.end]
    assert [one for one in ranked if one in packed.read] == list(packed.read)
    assert set(packed.read) <= set(pack(ranked, corpus, tokens + more, ranks).read)


@given(st.text())
def test_tokens_end_inside_of_their_text_in_order(text: str) -> None:
    ends = borders(text)
    assert ends == sorted(ends)
    assert all(0 <= end <= len(text) for end in ends)
    assert count(text) == len(ends)


def test_tokens_of_known_texts() -> None:
    assert count("") == count(" \n") == 0
    assert count(WORDS) == 6
    assert borders("It rains.") == [2, 8, 9]


def test_passages_that_were_cut_are_given_back_as_they_were_shown() -> None:
    corpus = corpus_of(2, 6)
    packed = pack([(1, 0.9)], corpus, 3)
    ends = [chunk.span.end for chunk in packed.chunks]
    assert [hit.chunk for hit in hits(corpus, packed.read, ends)] == list(packed.chunks)
    assert hits(corpus, packed.read)[0].chunk == corpus.chunk(1)
