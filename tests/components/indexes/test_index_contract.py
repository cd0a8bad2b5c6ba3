"""The laws of indexes, for every choice in conf/index."""

import inspect
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from rag.config.build import Components
from rag.core.rankings import NOTHING, Rankings
from rag.core.records import Arrays, Vectors
from rag.core.roles import Index, Searcher

CONF = Path(__file__).parents[3] / "conf" / "index"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
EXACT = [choice for choice in CHOICES if choice not in ("faiss_hnsw", "faiss_ivf")]

TEXTS = [
    *["Annual leave is twenty-five days."] * 2,
    *["", "  \n", "Sick leave: tell us by nine."],
    *[f"Rota {number}: the wardens walk the river path, path {number % 4}." for number in range(30)],
    *["Über die Straße – naïve café № 5", "日本語のテキスト", "leave leave leave", "the the the"],
    "Annual leave is twenty-five days.",
]
QUESTIONS = ["How much annual leave?", "the river path", "", "zzz qqq", "leave leave", "straße café", "tell us about rota 7"]
DEPTHS = [0, 1, 3, 10, len(TEXTS), len(TEXTS) + 50]


def node(choice: str) -> dict[str, Any]:
    loaded = yaml.safe_load((CONF / f"{choice}.yaml").read_text(encoding="utf-8"))
    assert list(loaded) == [choice], "an index keys itself, so that several can be composed"
    return dict(loaded[choice])


def index_of(choice: str) -> Index:
    index = Components().role("index", node(choice))
    assert isinstance(index, Index)
    return index


def unit(seed: int, rows: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, 16))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


CHUNK_VECTORS = unit(1, len(TEXTS))[[TEXTS.index(text) for text in TEXTS]]  # the same text, the same vector
QUESTION_VECTORS = unit(2, len(QUESTIONS))


def built(choice: str, texts: list[str], vectors: Vectors) -> Arrays:
    index = index_of(choice)
    return index.build(texts, vectors) if index.uses_vectors else index.build(texts, None)


def opened(choice: str) -> Searcher:
    return index_of(choice).open(built(choice, TEXTS, CHUNK_VECTORS))


def ask(choice: str, searcher: Searcher, depth: int, which: slice = slice(None)) -> Rankings:
    vectors = QUESTION_VECTORS[which] if index_of(choice).uses_vectors else None
    return searcher.search(QUESTIONS[which], vectors, depth)


def assert_lawful(rankings: Rankings, questions: int, chunks: int, depth: int) -> None:
    assert (rankings.positions.dtype, rankings.scores.dtype) == (np.int32, np.float64)
    assert rankings.positions.shape == rankings.scores.shape == (questions, min(depth, chunks))
    for question in range(questions):
        hits = rankings.row(question)
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        assert len({position for position, _ in hits}) == len(hits)
        assert all(0 <= position < chunks and np.isfinite(score) for position, score in hits)
        assert (rankings.positions[question, len(hits) :] == NOTHING).all()
        assert np.isneginf(rankings.scores[question, len(hits) :]).all()


def assert_same(one: Rankings, other: Rankings) -> None:
    assert one.positions.tolist() == other.positions.tolist()
    assert one.scores.tolist() == other.scores.tolist()


@pytest.mark.parametrize("choice", CHOICES)
class TestEveryIndex:
    def test_yaml_writes_out_the_defaults(self, choice: str) -> None:
        index, written = index_of(choice), node(choice)
        assert isinstance(index.uses_vectors, bool)
        parameters = inspect.signature(type(index)).parameters
        assert {name: written.get(name, "missing") for name in parameters} == {
            name: parameter.default for name, parameter in parameters.items()
        }

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_rankings_are_lawful(self, choice: str, depth: int) -> None:
        assert_lawful(ask(choice, opened(choice), depth), len(QUESTIONS), len(TEXTS), depth)

    def test_something_is_found(self, choice: str) -> None:
        assert ask(choice, opened(choice), 3).positions[0, 0] == (0 if not index_of(choice).uses_vectors else BEST[0])

    def test_a_smaller_depth_is_a_prefix(self, choice: str) -> None:
        searcher = opened(choice)
        assert_same(ask(choice, searcher, 4), ask(choice, searcher, len(TEXTS)).first(4))

    @pytest.mark.parametrize("depth", [3, len(TEXTS)])
    def test_one_question_alone_is_one_question_among_many(self, choice: str, depth: int) -> None:
        searcher = opened(choice)
        together = ask(choice, searcher, depth)
        for row in range(len(QUESTIONS)):
            alone = ask(choice, searcher, depth, slice(row, row + 1))
            assert_same(alone, Rankings(together.positions[row : row + 1], together.scores[row : row + 1]))

    def test_the_same_build_gives_the_same_bytes(self, choice: str) -> None:
        one, other = built(choice, TEXTS, CHUNK_VECTORS), built(choice, TEXTS, CHUNK_VECTORS.copy())
        assert {name: value.tobytes() for name, value in one.items()} == {
            name: value.tobytes() for name, value in other.items()
        }

    def test_arrays_survive_a_store_without_pickle(self, choice: str) -> None:
        arrays = built(choice, TEXTS, CHUNK_VECTORS)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **{name: np.asarray(value) for name, value in arrays.items()})
        file.seek(0)
        with np.load(file, allow_pickle=False) as loaded:
            restored = {name: loaded[name] for name in loaded.files}
        for value in restored.values():
            value.flags.writeable = False
        index = index_of(choice)
        assert_same(ask(choice, index.open(restored), 10), ask(choice, index.open(arrays), 10))

    def test_no_chunks_no_hits(self, choice: str) -> None:
        for dimensions in (16, 0):
            searcher = index_of(choice).open(built(choice, [], np.zeros((0, dimensions), np.float32)))
            assert_lawful(ask(choice, searcher, 5), len(QUESTIONS), 0, 5)

    @pytest.mark.parametrize("texts", [["leave"], [""], ["", " "], ["the"]])
    def test_tiny_corpora(self, choice: str, texts: list[str]) -> None:
        searcher = index_of(choice).open(built(choice, texts, unit(3, len(texts))))
        assert_lawful(ask(choice, searcher, 5), len(QUESTIONS), len(texts), 5)

    def test_no_questions_no_rows(self, choice: str) -> None:
        assert_lawful(ask(choice, opened(choice), 5, slice(0, 0)), 0, len(TEXTS), 5)


BEST = (QUESTION_VECTORS.astype(np.float64) @ CHUNK_VECTORS.T.astype(np.float64)).argmax(1)


@pytest.mark.parametrize("choice", EXACT)
def test_a_long_tie_falls_by_position(choice: str) -> None:
    texts = ["something else", *["annual leave"] * 400]
    vectors = np.repeat(unit(4, 2), [1, 400], axis=0)
    index = index_of(choice)
    searcher = index.open(built(choice, texts, vectors))
    found = searcher.search(["annual leave"], vectors[1:2] if index.uses_vectors else None, 7)
    assert found.positions.tolist() == [[1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if not index_of(choice).uses_vectors])
def test_a_chunk_without_a_word_of_the_question_is_no_hit(choice: str) -> None:
    found = ask(choice, opened(choice), len(TEXTS))
    assert found.row(2) == found.row(3) == []
    assert {position for position, _ in found.row(4)} == {0, 1, 4, TEXTS.index("leave leave leave"), len(TEXTS) - 1}


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if index_of(choice).uses_vectors])
def test_a_vector_index_needs_vectors(choice: str) -> None:
    with pytest.raises(TypeError, match="no vectors"):
        index_of(choice).build(TEXTS, None)
    with pytest.raises(TypeError, match="no vectors"):
        opened(choice).search(QUESTIONS, None, 5)
