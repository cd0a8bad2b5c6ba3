"""Restricted search, for every choice in conf/index: the ranking of everything, without what is not allowed."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.config.build import Components
from rag.core.rankings import Rankings
from rag.core.records import Allowed, Vectors
from rag.core.roles import Index, Searcher

CONF = Path(__file__).parents[3] / "conf" / "index"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
APPROXIMATE = ("faiss_hnsw", "faiss_ivf")
LAW = settings(max_examples=60, deadline=None)
WORDS = ["leave", "annual", "river", "path", "rota", "the", "café"]


def index_of(choice: str) -> Index:
    index = Components().role("index", yaml.safe_load((CONF / f"{choice}.yaml").read_text("utf-8"))[choice])
    assert isinstance(index, Index)
    return index


def searched(index: Index, searcher: Searcher, seed: int, depth: int, allowed: Allowed | None) -> Rankings:
    texts = [" ".join(np.random.default_rng(seed + row).choice(WORDS, 3)) for row in range(3)]
    return searcher.search(texts, unit(seed, 3) if index.uses_vectors else None, depth, allowed)


def unit(seed: int, rows: int) -> Vectors:
    # Few directions, so that scores tie.
    drawn = np.random.default_rng(seed).integers(-1, 2, size=(rows, 4)) + 0.1
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def opened(index: Index, seed: int, chunks: int) -> Searcher:
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, random.integers(0, 6))) for _ in range(chunks)]
    return index.open(index.build(texts, unit(seed + 1, chunks) if index.uses_vectors else None))


@pytest.mark.parametrize("choice", CHOICES)
@LAW
@given(st.integers(0, 2**16), st.integers(1, 60), st.integers(0, 70), st.floats(0, 1))
def test_what_is_found_is_the_whole_ranking_without_the_others(
    choice: str, seed: int, chunks: int, depth: int, share: float
) -> None:
    index = index_of("faiss_flat" if choice in APPROXIMATE else choice)
    allowed = np.random.default_rng(seed + 2).random(chunks) < share
    whole = searched(index, opened(index, seed, chunks), seed, chunks, None)
    found = searched(index_of(choice), opened(index_of(choice), seed, chunks), seed, depth, allowed)
    for row in range(3):
        expected = [hit for hit in whole.row(row) if allowed[hit[0]]][:depth]
        assert found.row(row) == expected


@pytest.mark.parametrize("choice", CHOICES)
def test_everything_allowed_is_no_restriction_and_nothing_allowed_finds_nothing(choice: str) -> None:
    index = index_of(choice)
    searcher = opened(index, 5, 40)
    free = searched(index, searcher, 5, 40, None)
    everything = searched(index, searcher, 5, 40, np.ones(40, dtype=bool))
    nothing = searched(index, searcher, 5, 40, np.zeros(40, dtype=bool))
    assert [everything.row(row) for row in range(3)] == [free.row(row) for row in range(3)]
    assert any(free.row(row) for row in range(3))
    assert [nothing.row(row) for row in range(3)] == [[], [], []]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_restricted_search_leaves_no_trace(choice: str) -> None:
    index = index_of(choice)
    searcher, fresh = opened(index, 9, 40), opened(index, 9, 40)
    searched(index, searcher, 9, 10, np.arange(40) % 3 == 0)
    after, before = searched(index, searcher, 9, 10, None), searched(index, fresh, 9, 10, None)
    assert [after.row(row) for row in range(3)] == [before.row(row) for row in range(3)]
