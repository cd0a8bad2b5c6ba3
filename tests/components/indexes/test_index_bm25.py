"""Okapi BM25 and eager BM25, against the libraries rank_bm25 and bm25s."""

from math import log

import bm25s
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from Stemmer import Stemmer

from rag.components.analysers.words import WordAnalyser
from rag.components.indexes.bm25 import Bm25Index
from rag.components.indexes.bm25s import METHODS, Bm25sIndex

EVERY_WORD = WordAnalyser(1, None, None)
LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure
WORDS = ["leave", "leaves", "annual", "rota", "paid", "the", "zebra"]


def search(index: Bm25Index | Bm25sIndex, texts: list[str], question: str) -> list[tuple[int, float]]:
    return index.open(index.build(texts, None)).search([question], None, 99).row(0)


def texts_of(words: list[str], least: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.lists(st.sampled_from(words), max_size=6).map(" ".join), min_size=least, max_size=7)


@LAW
@given(
    texts_of([*"abcde"], 1).filter(any),
    st.lists(st.sampled_from("abcdex"), min_size=1, max_size=4),
    st.sampled_from([(1.5, 0.75, 0.25), (0.1, 0.0, 0.0), (2.0, 0.9, 1.0)]),
)
def test_scores_are_those_of_rank_bm25(texts: list[str], question: list[str], parameters: tuple[float, float, float]) -> None:
    k1, b, epsilon = parameters
    scores = BM25Okapi([text.split() for text in texts], k1=k1, b=b, epsilon=epsilon).get_scores(question)
    found = dict(search(Bm25Index(EVERY_WORD, k1, b, epsilon), texts, " ".join(question)))
    assert set(found) == {place for place, text in enumerate(texts) if set(text.split()) & set(question)}
    assert found == pytest.approx({place: scores[place] for place in found}, abs=1e-6)


def test_a_word_without_saturation_counts_once() -> None:
    """At k1 = 0 the library divides 0 by 0 for chunks without the word; here they are no hits."""
    assert search(Bm25Index(EVERY_WORD, k1=0), ["leave leave", "leave", "pay", "rota", "rota"], "leave") == [
        (0, pytest.approx(log(3.5 / 2.5), abs=1e-6)),
        (1, pytest.approx(log(3.5 / 2.5), abs=1e-6)),
    ]


@LAW
@given(
    texts_of(WORDS, 2),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(METHODS),
    st.sampled_from([{"k1": 1.2, "b": 0.75}, {"k1": 0.9, "b": 0.4}, {"k1": 1.5, "b": 0.75, "delta": 0.9}]),
)
def test_scores_are_those_of_bm25s(texts: list[str], question: str, method: str, parameters: dict[str, float]) -> None:
    stemmer = Stemmer("english")
    cut, asked = (
        bm25s.tokenize(part, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        for part in (texts, [question])
    )
    found = search(Bm25sIndex(WordAnalyser(), method=method, **parameters), texts, question)
    matching = {place for place, words in enumerate(cut) if set(words) & set(asked[0])}
    assert {place for place, _ in found} == matching
    if matching:
        library = bm25s.BM25(method=method, **parameters)
        library.index(cut, show_progress=False)
        scores = library.get_scores(asked[0])
        assert [score for _, score in found] == pytest.approx([scores[place] for place, _ in found], abs=1e-5)
