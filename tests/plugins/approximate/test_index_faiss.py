"""Vector indexes, against exact search in float64."""

import subprocess
import sys
from collections.abc import Callable

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.indexes.faiss_flat import FaissFlatIndex
from rag.core.rankings import Rankings
from rag.core.roles import Index
from rag.core.types import Vectors
from rag.plugins.approximate.indexes.faiss_hnsw import FaissHnswIndex, one_thread

LAW = settings(max_examples=25, deadline=None)  # a busy machine is no failure


def unit(vectors: np.ndarray) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def scattered(seed: int, rows: int, dimensions: int = 32) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(rows, dimensions)))


def clustered(seed: int, rows: int, dimensions: int = 64, centres: int = 20) -> Vectors:
    """Points around the same `centres` for every seed."""
    random = np.random.default_rng(seed)
    middle = np.random.default_rng(99).normal(size=(centres, dimensions))
    return unit(middle[random.integers(centres, size=rows)] + 0.3 * random.normal(size=(rows, dimensions)))


def search(index: Index, chunks: Vectors, questions: Vectors, depth: int) -> Rankings:
    return index.open(index.build([], chunks)).search([], questions, depth)


def exact(chunks: Vectors, questions: Vectors, depth: int) -> Rankings:
    return Rankings.top(questions.astype(np.float64) @ chunks.astype(np.float64).T, depth)


def recall(found: Rankings, gold: Rankings) -> float:
    pairs = zip(found.positions.tolist(), gold.positions.tolist(), strict=True)
    return float(np.mean([len(set(some) & set(all_)) / len(all_) for some, all_ in pairs]))


@LAW
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 200), st.integers(1, 90), st.integers(1, 4))
def test_flat_is_exact_and_alone_as_in_a_batch_among_near_ties(
    seed: int, questions: int, chunks: int, depth: int, spread: int
) -> None:
    random = np.random.default_rng(seed)
    centre = random.normal(size=24)
    near = unit(centre + 10.0 ** -(2 * spread) * random.normal(size=(chunks, 24)))[random.integers(chunks, size=chunks)]
    asked = unit(centre + 0.1 * random.normal(size=(questions, 24)))
    together, gold = search(FaissFlatIndex(), near, asked, depth), exact(near, asked, depth)
    assert together.positions.tolist() == gold.positions.tolist()
    searcher = FaissFlatIndex().open({"vectors": near})
    for row in range(questions):
        alone = searcher.search([""], asked[row : row + 1], depth)
        assert alone.positions.tolist() == together.positions[row : row + 1].tolist()
        assert alone.scores.tolist() == together.scores[row : row + 1].tolist()


@pytest.mark.parametrize(
    ("index", "make"), [(FaissHnswIndex(), scattered), (FaissHnswIndex(m=16, ef_construction=80), clustered)]
)
def test_approximate_search_finds_nine_in_ten(index: Index, make: Callable[[int, int], Vectors]) -> None:
    chunks, questions = make(1, 1500), make(2, 50)
    found, best = search(index, chunks, questions, 10), exact(chunks, questions, 1500)
    assert recall(found, best.first(10)) > 0.9
    for question in range(len(questions)):
        scores = dict(best.row(question))
        assert all(scores[position] == score for position, score in found.row(question))


def test_parameters_reach_the_library() -> None:
    chunks = scattered(1, 60)
    hnsw = FaissHnswIndex(m=8, ef_construction=31, ef_search=17)
    opened = hnsw.open(hnsw.build([], chunks)).index
    assert (opened.hnsw.efSearch, opened.hnsw.nb_neighbors(1)) == (17, 8)
    built, other = (FaissHnswIndex(m=8, ef_construction=ef).build([], chunks)["links"].tobytes() for ef in (31, 1))
    assert built != other


BUILD = """
import sys, hashlib, faiss, numpy as np
from rag.plugins.approximate.indexes.faiss_hnsw import FaissHnswIndex, one_thread
faiss.omp_set_num_threads(int(sys.argv[1]))
vectors = np.random.default_rng(5).normal(size=(800, 24)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
built = b"".join(array.tobytes() for array in FaissHnswIndex().build([], vectors).values())
sys.stdout.write(hashlib.sha256(built).hexdigest())
"""


def test_builds_do_not_depend_on_threads_or_process() -> None:
    one, two = (
        subprocess.run([sys.executable, "-c", BUILD, threads], capture_output=True, text=True, check=True)
        for threads in ("1", "2")
    )
    assert one.stdout == two.stdout
    assert len(one.stdout) == 64


def test_the_number_of_threads_is_restored_even_after_an_error() -> None:
    before = faiss.omp_get_max_threads()

    def fail() -> None:
        with one_thread():
            assert faiss.omp_get_max_threads() == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert faiss.omp_get_max_threads() == before
