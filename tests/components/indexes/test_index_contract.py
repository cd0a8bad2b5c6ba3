"""The laws of indexes, for every choice in conf/index; `rag.testing` has those that hold for any plug-in."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import build, choices

from rag.core.rankings import Rankings
from rag.core.roles import Searcher
from rag.core.types import Allowed, Vectors
from rag.testing import check_index
from rag.testing.laws import lawful, same

CHOICES = choices("index")
pytestmark = pytest.mark.usefixtures("vector_stores")
APPROXIMATE = ("chroma", "faiss_hnsw")
WITH_VECTORS = [choice for choice in CHOICES if build("index", choice).uses_vectors]
TEXTS = [
    *["Annual leave is twenty-five days."] * 2,
    *["", "  \n", "Sick leave: tell us by nine."],
    *[f"Rota {number}: the wardens walk the river path, path {number % 4}." for number in range(30)],
    *["Über die Straße – naïve café № 5", "日本語のテキスト", "leave leave leave", "the the the"],
    "Annual leave is twenty-five days.",
]
QUESTIONS = ["How much annual leave?", "the river path", "", "zzz qqq", "leave leave", "straße café", "tell us about rota 7"]
WORDS = ["leave", "annual", "river", "path", "rota", "the", "café"]


def unit(seed: int, rows: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, 16))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


CHUNK_VECTORS = unit(1, len(TEXTS))[[TEXTS.index(text) for text in TEXTS]]  # the same text, the same vector
QUESTION_VECTORS = unit(2, len(QUESTIONS))


def opened(choice: str, texts: list[str] = TEXTS, vectors: Vectors = CHUNK_VECTORS) -> Searcher:
    index = build("index", choice)
    searcher: Searcher = index.open(index.build(texts, vectors if index.uses_vectors else None))
    return searcher


def search(choice: str, searcher: Searcher, depth: int, questions: list[str] = QUESTIONS) -> Rankings:
    vectors = QUESTION_VECTORS[: len(questions)] if choice in WITH_VECTORS else None
    return searcher.search(questions, vectors, depth)


@pytest.mark.parametrize("choice", CHOICES)
class TestEveryIndex:
    def test_laws(self, choice: str) -> None:
        check_index(build("index", choice))

    def test_the_best_chunk_is_found(self, choice: str) -> None:
        products = QUESTION_VECTORS.astype(np.float64) @ CHUNK_VECTORS.T.astype(np.float64)
        best = products.argmax(1)[0] if choice in WITH_VECTORS else 0
        assert search(choice, opened(choice), 3).positions[0, 0] == best

    def test_arrays_survive_a_store_without_pickle(self, choice: str) -> None:
        index = build("index", choice)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **index.build(TEXTS, CHUNK_VECTORS))
        file.seek(0)
        with np.load(file, allow_pickle=False) as loaded:
            restored = {name: loaded[name] for name in loaded.files}
        for value in restored.values():
            value.flags.writeable = False
        assert same(search(choice, index.open(restored), 10), search(choice, opened(choice), 10))

    @pytest.mark.parametrize("texts", [[], ["leave"], [""], ["", " "], ["the"]])
    def test_tiny_corpora(self, choice: str, texts: list[str]) -> None:
        for dimensions in (16, 0) if not texts else (16,):
            searcher = opened(choice, texts, unit(3, len(texts))[:, :dimensions])
            lawful(search(choice, searcher, 5), len(QUESTIONS), len(texts))


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice not in APPROXIMATE])
def test_a_long_tie_is_ordered_by_position(choice: str) -> None:
    vectors = np.repeat(unit(4, 2), [1, 400], axis=0)
    searcher = opened(choice, ["something else", *["annual leave"] * 400], vectors)
    found = searcher.search(["annual leave"], vectors[1:2] if choice in WITH_VECTORS else None, 7)
    assert found.positions.tolist() == [[1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice not in WITH_VECTORS])
def test_a_chunk_without_a_word_of_the_question_is_no_hit(choice: str) -> None:
    found = search(choice, opened(choice), len(TEXTS))
    assert found.row(2) == found.row(3) == []
    assert {position for position, _ in found.row(4)} == {0, 1, 4, TEXTS.index("leave leave leave"), len(TEXTS) - 1}


@pytest.mark.parametrize("choice", WITH_VECTORS)
def test_a_vector_index_needs_vectors(choice: str) -> None:
    with pytest.raises(TypeError, match="needs vectors"):
        build("index", choice).build(TEXTS, None)
    with pytest.raises(TypeError, match="needs vectors"):
        opened(choice).search(QUESTIONS, None, 5)


def tied(seed: int, rows: int) -> Vectors:
    """Vectors in few directions, so that scores tie."""
    drawn = np.random.default_rng(seed).integers(-1, 2, size=(rows, 4)) + 0.1
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def drawn_searcher(choice: str, seed: int, chunks: int) -> Any:
    """A search of three drawn questions in drawn chunks: a function of the depth and of what is allowed."""
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, random.integers(0, 6))) for _ in range(chunks)]
    searcher = opened(choice, texts, tied(seed + 1, chunks))
    questions = [" ".join(np.random.default_rng(seed + row).choice(WORDS, 3)) for row in range(3)]

    def rows(depth: int, allowed: Allowed | None = None) -> list[list[tuple[int, float]]]:
        found = searcher.search(questions, tied(seed, 3) if choice in WITH_VECTORS else None, depth, allowed)
        return [found.row(row) for row in range(3)]

    return rows


@pytest.mark.parametrize("choice", CHOICES)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 60), st.integers(0, 70), st.floats(0, 1))
def test_a_restricted_search_finds_the_whole_ranking_without_the_others(
    choice: str, seed: int, chunks: int, depth: int, share: float
) -> None:
    allowed = np.random.default_rng(seed + 2).random(chunks) < share
    whole = drawn_searcher("faiss_flat" if choice in APPROXIMATE else choice, seed, chunks)(chunks)
    found = drawn_searcher(choice, seed, chunks)(depth, allowed)
    assert found == [[hit for hit in row if allowed[hit[0]]][:depth] for row in whole]
