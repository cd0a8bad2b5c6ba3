"""Eager BM25, against the library's own search, published formulas and published collections."""

import json
import os
from functools import cache
from math import log
from pathlib import Path

import bm25s
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from Stemmer import Stemmer

from rag.components.analysers.words import WordAnalyser
from rag.components.indexes.bm25s import METHODS, Bm25sIndex
from rag.core.rankings import Rankings

LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

DATA = Path(os.environ.get("RAG_DATA", Path(__file__).parents[3].parent / "shared" / "data"))
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


def test_one_score_by_hand() -> None:
    """Lucene: log(1 + (N - n + 0.5) / (n + 0.5)) · tf / (tf + k1 (1 - b + b · length / mean length))."""
    texts = ["leaving leaves pay", "pay", "rota", "rota"]
    expected = log(1 + 3.5 / 1.5) * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 1.5))
    assert search(Bm25sIndex(STEMS), texts, ["Leave!"]).row(0) == [(0, pytest.approx(expected, abs=1e-6))]


def test_every_chunk_with_the_word_is_a_hit_even_if_its_idf_is_zero() -> None:
    for method in METHODS:
        found = search(Bm25sIndex(STEMS, method=method), ["leave", "leave pay", "leave pay rota"], ["leave"])
        assert {place for place, _ in found.row(0)} == {0, 1, 2}


def test_stop_words_can_be_listed_or_left_out_and_single_characters_are_no_words() -> None:
    texts = ["the leave", "the rota"]
    assert search(Bm25sIndex(WordAnalyser(stopwords=None)), ["x", "x y zz"], ["x y"]).row(0) == []
    assert search(Bm25sIndex(STEMS), texts, ["the"]).row(0) == []
    assert len(search(Bm25sIndex(WordAnalyser(stopwords=None)), texts, ["the"]).row(0)) == 2
    assert search(Bm25sIndex(WordAnalyser(stopwords=["Leave"])), texts, ["leave"]).row(0) == []


def test_without_a_stemmer_words_match_as_they_are() -> None:
    assert search(Bm25sIndex(WordAnalyser(stemmer=None)), ["leaves", "leave"], ["leave"]).row(0)[0][0] == 1
    assert len(search(Bm25sIndex(STEMS), ["leaves", "leave"], ["leave"]).row(0)) == 2


@cache
def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def ndcg(collection: str, split: str, index: Bm25sIndex) -> float:
    """Mean nDCG@10 by trec_eval's own code, every judgement above 0 counting as 1."""
    folder = DATA / "beir" / collection
    corpus, asked = rows(folder / "corpus.jsonl"), rows(folder / "queries.jsonl")
    gold: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / f"{split}.tsv").read_text(encoding="utf-8").split("\n")[1:]:
        if line:
            question, document, grade = line.split("\t")
            gold.setdefault(question, {})[document] = int(int(grade) > 0)
    texts = [f"{row['title']} {row['text']}" for row in corpus]
    found = search(index, texts, [row["text"] for row in asked], 100)
    # trec_eval orders ties in its own way: ranks instead of scores leave no ties.
    run = {
        row["_id"]: {corpus[place]["_id"]: float(-rank) for rank, (place, _) in enumerate(found.row(number))}
        for number, row in enumerate(asked)
    }
    scored = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut.10"}).evaluate(run)
    return float(np.mean([values["ndcg_cut_10"] for values in scored.values()]))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no evaluation data at {DATA}; set RAG_DATA")
@pytest.mark.parametrize(
    ("collection", "split", "parameters", "expected"),
    [
        ("cranfield", "test", {}, 0.519),
        ("scifact-train", "train", {}, 0.6960),
        ("scifact-train", "train", {"k1": 0.9, "b": 0.4}, 0.6945),
    ],
)
def test_published_collections(collection: str, split: str, parameters: dict[str, float], expected: float) -> None:
    assert ndcg(collection, split, Bm25sIndex(STEMS, **parameters)) == pytest.approx(expected, abs=0.005)
