"""Small configs that stand for very many values are refused before these are listed."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command_line import Verb

from rag.config import compose, experiment
from rag.config.limits import MOST_VALUES, check_axis
from rag.config.yaml_files import read
from rag.core.errors import ConfigError, StoreError
from rag.execution.store.store import Entry, Store

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]\n" for number in range(1, 7)
)
KEY = "stages/" + "ab" * 32


@contextmanager
def little_memory(most: int = 30_000_000) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("k=range(1,1000000000)", "names 999,999,999 values"),
        ("k=range(0,1,1e-9)", "names 1,000,000,000 values"),
        ("k=shuffle(range(1,1000000000))", "names 999,999,999 values"),
        ("k=range(1000000000)", "names 1,000,000,000 values"),
        ("k=range(10000000000,0,-1)", "names 10,000,000,000 values"),
        ("k=range(1,5,0)", "is not a valid range"),
        ("k=range(1.0,inf)", "is not a valid range"),
        ("k=" + "9" * 5000, "is not a valid override"),
        ("k=" + "9," * 150_000 + "9", "characters"),
    ],
)
def test_an_override_that_names_too_much(override: str, what: str) -> None:
    with little_memory(), pytest.raises(ConfigError) as caught:
        compose.expanded(override)
    assert what in caught.value.what
    assert len(caught.value.where) < 300


def test_ranges_and_lists_up_to_the_bound_are_listed() -> None:
    assert compose.expanded("k=range(1,10)") == [f"k={number}" for number in range(1, 10)]
    assert len(compose.expanded(f"k=range(0,{MOST_VALUES})")) == MOST_VALUES
    check_axis("k", ["k=1"] * MOST_VALUES)


@pytest.mark.parametrize("axis", ["[k=1, k=2, k=3, k=4]", "{a: k=1, b: k=2, c: k=3, d: k=4}", "k=1,2,3,4", "k=range(1,5)"])
def test_an_axis_of_too_many_choices(here: Path, monkeypatch: pytest.MonkeyPatch, axis: str) -> None:
    (here / "study.yaml").write_text(f"question: q?\naxes:\n  k: {axis}\n", "utf-8")
    assert len(experiment.load("study.yaml").axes["k"]) == 4
    monkeypatch.setattr("rag.config.limits.MOST_VALUES", 3)
    with pytest.raises(ConfigError, match="at most 3"):
        experiment.load("study.yaml")


@pytest.mark.parametrize("place", ["experiment", "axes", "conf"])
def test_aliases_that_multiply(here: Path, rag: Verb, place: str) -> None:
    texts = {
        "experiment": ("study.yaml", f"question: q?\n{BOMB}"),
        "axes": ("study.yaml", "question: q?\naxes:\n" + "".join(f"  {line}\n" for line in BOMB.splitlines())),
        "conf": ("conf/chunker/bomb.yaml", f"_target_: rag.components.chunkers.fixed.FixedChunker\n{BOMB}"),
    }
    name, text = texts[place]
    path = here / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    output = rag("plan", "study.yaml") if place != "conf" else rag("run", "chunker=bomb", "--no-track")
    assert output.code == 2
    assert "holds more than 1,000,000 values, aliases counted" in output.err


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "[" * 2_000, "- " * 100_000 + "x"])
def test_a_file_without_end_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match="refers to itself, or is nested too deeply"):
        read(tmp_path / "x.yaml")


def test_aliases_that_do_not_multiply_are_welcome(here: Path) -> None:
    (here / "study.yaml").write_text("question: q?\nfixed: &held [k=5]\naxes:\n  k: {a: *held, b: [k=6]}\n", "utf-8")
    assert list(experiment.load("study.yaml").axes) == ["k"]


@pytest.mark.parametrize("url", ["simplecache::zip://a.zip::file:///nowhere/b.zip", "reference://x", "nothing://x"])
def test_a_store_that_cannot_be_opened(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_TRUST_HOST", "x")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(url)


def test_a_pipe_in_place_of_an_entry_is_not_waited_for(tmp_path: Path) -> None:
    code = f"from rag.execution.store.store import Store; Store({str(tmp_path)!r}).read({KEY!r})"
    path = Path(Store(str(tmp_path)).path(KEY))
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "StoreError" in result.stderr
    assert "is not a file" in result.stderr
    with pytest.raises(StoreError, match="is not a file"):
        Store(str(tmp_path)).read_meta(KEY)
    path.unlink()
    Store(str(tmp_path)).write(KEY, Entry({}, {}))
    assert Store(str(tmp_path)).read(KEY) is not None
