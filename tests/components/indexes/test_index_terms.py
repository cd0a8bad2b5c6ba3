"""Words and postings, against the library bm25s."""

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.analysers.words import WordAnalyser
from rag.components.indexes.terms import Postings, WordSearcher

LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

TEXTS = st.lists(st.text(alphabet="ab _-'\n.éßİ日5", max_size=12), max_size=6)


def library(texts: list[str], **parameters: object) -> list[list[str]]:
    return list(bm25s.tokenize(texts, return_ids=False, show_progress=False, **parameters))


@LAW
@given(TEXTS)
def test_words_are_cut_as_bm25s_cuts_them(texts: list[str]) -> None:
    words = WordAnalyser(2, None, None)
    assert [words.terms(text) for text in texts] == library(texts, stopwords=[])


@LAW
@given(TEXTS, st.sampled_from([None, "english"]), st.sampled_from([None, ["ab", "b"]]))
def test_numbered_terms_are_the_terms(texts: list[str], stemmer: str | None, stopwords: list[str] | None) -> None:
    words = WordAnalyser(1, stemmer, stopwords)
    numbers, terms = words.number(texts)
    assert [[terms[number] for number in row] for row in numbers] == [words.terms(text) for text in texts]
    assert len(set(terms)) == len(terms)
    firsts = list(dict.fromkeys(number for row in numbers for number in row))
    assert firsts == list(range(len(terms)))


@pytest.fixture
def postings() -> Postings:
    """Term "a" in chunks 0 and 2, "b" in chunk 2, "c" in none but worth 0.5 where it is missing."""
    starts, chunks = np.array([0, 2, 3, 3]), np.array([0, 2, 2], np.int32)
    return Postings(("a", "b", "c"), starts, chunks, np.array([1.0, -2.0, 2.0]), np.array([0.0, 0.0, 0.5]), 4)


def test_weights_add_up_and_repeats_count(postings: Postings) -> None:
    searcher = WordSearcher(WordAnalyser(1, None, None), postings)
    expected = {
        "a": [(0, 1.0), (2, -2.0)],
        "a A a": [(0, 3.0), (2, -6.0)],
        "b a": [(0, 1.0), (2, 0.0)],
        "c a": [(0, 1.5), (2, -1.5)],
        "c": [],
        "d": [],
    }
    found = searcher.search(list(expected), None, 9)
    assert [found.row(question) for question in range(6)] == list(expected.values())


def test_many_questions_are_searched_in_blocks(postings: Postings, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = WordSearcher(WordAnalyser(1, None, None), postings)
    texts = ["a", "b", "", "a b", "c"]
    whole = searcher.search(texts, None, 3)
    monkeypatch.setattr("rag.components.indexes.terms.BLOCK", 8)
    parts = searcher.search(texts, None, 3)
    assert (parts.positions.tolist(), parts.scores.tolist()) == (whole.positions.tolist(), whole.scores.tolist())
