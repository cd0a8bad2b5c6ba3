"""Okapi BM25, against rank_bm25 and by hand."""

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from rag.components.analysers.words import WordAnalyser
from rag.components.indexes.bm25 import Bm25Index
from rag.core.rankings import Rankings

EVERY_WORD = WordAnalyser(1, None, None)
LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

TEXTS = st.lists(st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join), min_size=1, max_size=7)


def search(index: Bm25Index, texts: list[str], questions: list[str], depth: int = 99) -> Rankings:
    return index.open(index.build(texts, None)).search(questions, None, depth)


@LAW
@given(
    TEXTS.filter(lambda texts: any(texts)),
    st.lists(st.sampled_from("abcdex"), min_size=1, max_size=4),
    st.sampled_from([(1.5, 0.75, 0.25), (0.1, 0.0, 0.0), (2.0, 0.9, 1.0)]),
)
def test_scores_are_those_of_rank_bm25(texts: list[str], question: list[str], parameters: tuple[float, float, float]) -> None:
    k1, b, epsilon = parameters
    scores = BM25Okapi([text.split() for text in texts], k1=k1, b=b, epsilon=epsilon).get_scores(question)
    found = dict(search(Bm25Index(EVERY_WORD, k1, b, epsilon), texts, [" ".join(question)]).row(0))
    assert set(found) == {place for place, text in enumerate(texts) if set(text.split()) & set(question)}
    assert found == pytest.approx({place: scores[place] for place in found}, abs=1e-6)


def test_a_word_without_saturation_counts_once() -> None:
    """At k1 = 0 the library divides 0 by 0 for chunks without the word; here they are no hits."""
    assert search(Bm25Index(EVERY_WORD, k1=0), ["leave leave", "leave", "pay", "rota", "rota"], ["leave"]).row(0) == [
        (0, pytest.approx(log(3.5 / 2.5), abs=1e-6)),
        (1, pytest.approx(log(3.5 / 2.5), abs=1e-6)),
    ]
