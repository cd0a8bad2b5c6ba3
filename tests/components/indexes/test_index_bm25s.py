"""Eager BM25, against the library's own search, published formulas and published collections."""

import bm25s
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from Stemmer import Stemmer

from rag.components.analysers.words import WordAnalyser
from rag.components.indexes.bm25s import METHODS, Bm25sIndex
from rag.core.rankings import Rankings

LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

STEMS = WordAnalyser()
WORDS = ["leave", "leaves", "annual", "rota", "paid", "the", "zebra"]


def search(index: Bm25sIndex, texts: list[str], questions: list[str], depth: int = 99) -> Rankings:
    return index.open(index.build(texts, None)).search(questions, None, depth)


@LAW
@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=2, max_size=6),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(METHODS),
)
def test_scores_are_those_of_the_library(texts: list[str], question: str, method: str) -> None:
    stemmer = Stemmer("english")
    cut, asked = (
        bm25s.tokenize(part, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        for part in (texts, [question])
    )
    found = search(Bm25sIndex(STEMS, method=method), texts, [question]).row(0)
    matching = {place for place, words in enumerate(cut) if set(words) & set(asked[0])}
    assert {place for place, _ in found} == matching
    if matching:
        library = bm25s.BM25(k1=1.2, b=0.75, method=method)
        library.index(cut, show_progress=False)
        scores = library.get_scores(asked[0])
        assert [score for _, score in found] == pytest.approx([scores[place] for place, _ in found], abs=1e-5)
