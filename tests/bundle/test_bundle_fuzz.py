"""A bundle with random content is opened and answers, or it is refused with a BundleError."""

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.forged_bundles import resealed, sealed
from support.small_set import write_golden

from rag.bundle.arrays import array_bytes, arrays_of
from rag.bundle.errors import BundleError
from rag.bundle.open_bundle import open_bundle
from rag.core.types import Query

TIMES = 40
NUMBERS = (-1, -2, 0, 1, 2, 127, 2**15, 2**31 - 1, -(2**31), 10**6, 1 << 40)
QUERIES = [Query(str(number), text) for number, text in enumerate(("When does the ferry leave?", "ticket bus", "x"))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with every kind of index."""
    folder = tmp_path_factory.mktemp("fuzz")
    given = ("index=[bm25,bm25s,dense,faiss_hnsw]", "index.faiss_hnsw.m=4")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return sealed(
            folder / "b", write_golden(folder / "golden"), "chunker=fixed", "chunker.size=12", "generator=extractive", *given
        )


def outcome(path: Path) -> str:
    """Open a bundle and ask it."""
    try:
        pipeline = open_bundle(path).pipeline
    except BundleError:
        return "refused"
    pipeline.traces(QUERIES)
    pipeline.answer(QUERIES[0])
    return "answered"


def test_arrays_of_any_kind_are_searched_or_refused(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "b")
    names = sorted(path.relative_to(whole).as_posix() for path in whole.rglob("*.safetensors"))
    seen: Counter[str] = Counter()
    for seed in range(TIMES):
        chance = random.Random(seed)
        name = chance.choice(names)
        arrays = dict(arrays_of((whole / name).read_bytes(), name))
        key = chance.choice(sorted(arrays))
        arrays[key] = changed(arrays[key], chance)
        (tmp_path / "b" / name).write_bytes(array_bytes(arrays))
        seen[outcome(resealed(tmp_path / "b"))] += 1
        shutil.copy(whole / name, tmp_path / "b" / name)
    assert seen["answered"] > TIMES // 10
    assert seen["refused"] > TIMES // 3


def changed(array: NDArray[Any], chance: random.Random) -> NDArray[Any]:
    """The array with random changes."""
    draw, kind = np.random.default_rng(chance.randrange(10_000)), chance.randrange(6)
    if kind == 0:
        values = np.array([chance.choice([*NUMBERS, array.size, chance.randrange(300)])]).astype(array.dtype)
        return np.where(draw.random(array.shape) < 2 / array.size, values, array)
    if kind == 1:
        return array[: chance.randrange(len(array) + 1)]
    if kind == 2:
        return np.concatenate([array, array[: chance.randrange(1, len(array) + 1)]])
    if kind == 3:
        return array[draw.permutation(len(array))]
    if kind == 4:
        return draw.integers(-3, 400, array.shape).astype(array.dtype)
    return array.astype(chance.choice(["<i4", "<i8", "<f4", "<f8", "|u1", "<u4"]))
