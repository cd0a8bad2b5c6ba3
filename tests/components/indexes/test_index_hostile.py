"""Arrays that are not a valid index are refused when they are opened, or searched within their bounds."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import build, choices

from rag.core.errors import DataError
from rag.core.roles import Index
from rag.core.types import Arrays

CHOICES = choices("index")
TEXTS = [f"leave of rota {number % 7} by the river" for number in range(50)]
VECTORS = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
ODD = [-(2**31), -2, -1, 0, 1, 49, 50, 51, 1000, 2**31 - 1]


pytestmark = pytest.mark.usefixtures("vector_stores")
INDEXES: dict[str, Index] = {choice: build("index", choice) for choice in CHOICES}


@cache
def built(choice: str) -> dict[str, Any]:
    return dict(INDEXES[choice].build(TEXTS, VECTORS))


def refused_or_harmless(choice: str, arrays: Arrays) -> None:
    """Search what opens; every position must be one of its chunks."""
    index = INDEXES[choice]
    with suppress(DataError):
        searcher: Any = index.open(arrays)
        if searcher.size != len(TEXTS):
            return  # refused by its corpus
        vectors = np.ones((2, 8), np.float32) if index.uses_vectors else None
        for allowed in (None, np.arange(len(TEXTS)) % 2 == 0):
            found = searcher.search(["leave rota", "river"], vectors, 20, allowed)
            assert found.positions.max(initial=-1) < len(TEXTS)


@pytest.mark.parametrize("choice", CHOICES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changed_numbers_are_refused_or_harmless(choice: str, data: st.DataObject) -> None:
    arrays = {name: array.copy() for name, array in built(choice).items()}
    # Floats are checked for NaN; here the numbers that point to chunks or terms are changed.
    name = data.draw(st.sampled_from([name for name, array in arrays.items() if array.dtype.kind in "iu"] or ["vectors"]))
    array = arrays[name].reshape(-1)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, array.size - 1))
        array[place] = data.draw(st.sampled_from([value for value in ODD if fits(value, array.dtype)]))
    refused_or_harmless(choice, arrays)


def fits(value: int, kind: np.dtype) -> bool:
    return kind.kind == "f" or np.iinfo(kind).min <= value <= np.iinfo(kind).max


@pytest.mark.parametrize("choice", CHOICES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_cut_doubled_and_bent_arrays_are_refused_or_harmless(choice: str, data: st.DataObject) -> None:
    arrays = dict(built(choice))
    name = data.draw(st.sampled_from(sorted(arrays)))
    bent: Mapping[str, Callable[[Any], Any]] = {
        "cut": lambda array: array[: len(array) // 2],
        "one less": lambda array: array[:-1],
        "doubled": lambda array: np.concatenate([array, array]),
        "flat": lambda array: array.reshape(-1),
        "deep": lambda array: array[..., None],
        "none": lambda array: array[:0],
        "scalar": lambda array: np.array(7),
        "text": lambda array: array.astype(str),
        "complex": lambda array: array.astype(complex),
        "half": lambda array: array.astype(np.float16),
        "truth": lambda array: array.astype(bool),
    }
    arrays[name] = bent[data.draw(st.sampled_from(sorted(bent)))](arrays[name])
    refused_or_harmless(choice, arrays)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_array_is_needed(choice: str) -> None:
    for name in built(choice):
        rest = {other: array for other, array in built(choice).items() if other != name}
        with pytest.raises(DataError, match=name):
            INDEXES[choice].open(rest)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(choice: str, value: float) -> None:
    for name, array in built(choice).items():
        if array.dtype.kind == "f" and array.size:
            spoilt = array.copy()
            spoilt.reshape(-1)[-1] = value
            with pytest.raises(DataError, match="infinity"):
                INDEXES[choice].open(built(choice) | {name: spoilt})


def test_a_link_to_a_chunk_outside_the_layer_is_refused() -> None:
    graph = dict(INDEXES["faiss_hnsw"].build([], np.random.default_rng(1).normal(size=(400, 8)).astype(np.float32)))
    high, low = int(np.flatnonzero(graph["levels"] > 1)[0]), int(np.flatnonzero(graph["levels"] == 1)[0])
    links = graph["links"].copy()
    upper = int((64 + 32 * (graph["levels"][:high] - 1)).sum()) + 64
    links[upper] = low
    with pytest.raises(DataError, match="a layer that it is not in"):
        INDEXES["faiss_hnsw"].open(graph | {"links": links})


@pytest.mark.parametrize("terms", [b"{", b"[1]", b'{"a": 1}', b'["a", "a"]', b"[" * 100_000, b"\xff", b'[["a"]]'])
def test_terms_are_a_list_of_different_words(terms: bytes) -> None:
    with pytest.raises(DataError, match="term"):
        INDEXES["bm25s"].open(built("bm25s") | {"terms": np.frombuffer(terms, np.uint8)})
