"""Overrides become configs, and what is wrong with one is said in a line that helps."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

import rag
from rag.config import compose as composing
from rag.config.build import Components
from rag.config.catalog import plugin_modules
from rag.config.compose import choices, compose, expanded, plugins, resolve, search_folders, shipped
from rag.config.plain_overrides import alternatives, plain
from rag.core.errors import ConfigError

Conf = Callable[[str, str], Path]
FIXED = "_target_: rag.components.chunkers.fixed.FixedChunker\n"


def composed(*overrides: str) -> dict[str, Any]:
    return resolve(compose(overrides))


def refused(*overrides: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        composed(*overrides)
    error = caught.value
    assert error.where
    assert error.remedy
    assert error.what == error.what.splitlines()[0]
    assert len(str(error)) < 1500
    return error


# What is composed


def test_the_wiring_holds_every_role_and_resolves(here: Path) -> None:
    config = composed()
    assert config["chunker"]["_target_"] == "rag.components.chunkers.recursive.RecursiveChunker"
    assert list(config["index"]) == ["bm25s", "dense"]
    assert set(composing._wiring()) - {"data", "helper"} == set(config) - {"data"}, "data is there with RAG_DATA only"
    assert "hydra" not in config


# Where choices are looked for


def test_ones_own_files_come_first_and_add_to_ours(conf: Conf) -> None:
    conf("chunker/mine.yaml", FIXED + "size: ${sizes.small}\n")
    conf("chunker/recursive.yaml", FIXED + "size: 12\n")
    conf("chunker/tuned/small.yaml", FIXED + "size: 13\n")
    conf("notes/one.yaml", "author: me\n")
    assert composed()["chunker"]["size"] == 12
    conf(
        "config.yaml", (shipped("conf") / "config.yaml").read_text("utf-8").replace("k: 5 ", "k: 4 ") + "\nsizes: {small: 50}\n"
    )
    config = composed("chunker=mine")
    assert (config["k"], config["chunker"]["size"]) == (4, 50)
    config = composed("chunker=tuned/small", "+notes=one")
    assert (config["chunker"]["size"], config["notes"]) == (13, {"author": "me"})
    assert {"mine", "fixed", "recursive"} <= set(choices("chunker"))


def test_a_file_that_changes_is_read_again(conf: Conf) -> None:
    for size in (1, 22):
        conf("chunker/mine.yaml", FIXED + f"size: {size}\n")
        assert composed("chunker=mine")["chunker"]["size"] == size


def test_folders_are_looked_into_once_and_whatever_they_are_called(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = search_folders()
    assert found == [shipped("conf"), *sorted(Path(rag.__file__).parent.glob("plugins/*/conf"))]
    monkeypatch.chdir(shipped("conf").parent)
    assert search_folders() == found
    folder = here / "a b%20ü'#" / "conf" / "chunker"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(FIXED + "size: 14\n", encoding="utf-8")
    monkeypatch.chdir(folder.parents[1])
    assert composed("chunker=mine")["chunker"]["size"] == 14


def test_a_plugin_joins_by_its_entry_point(here: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(plugins.cache_clear)
    site = here / "site"
    (site / "murmur" / "conf" / "chunker").mkdir(parents=True)
    (site / "murmur" / "__init__.py").write_text("raise RuntimeError('composing imports no plugin')", encoding="utf-8")
    (site / "murmur" / "conf" / "chunker" / "murmur.yaml").write_text("_target_: murmur.chunker.Murmur\nsize: 3\n", "utf-8")
    (site / "murmur" / "more" / "conf" / "chunker").mkdir(parents=True)
    (site / "murmur" / "more" / "conf" / "chunker" / "low.yaml").write_text("_target_: murmur.more.Low\n", "utf-8")
    (site / "murmur" / "more" / "verbs.py").touch()
    (site / "murmur-1.0.dist-info").mkdir()
    (site / "murmur-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: murmur\nVersion: 1.0\n", "utf-8")
    monkeypatch.syspath_prepend(str(site))
    plugins.cache_clear()
    assert "murmur" not in plugins()
    with pytest.raises(ConfigError, match="outside the trusted packages"):
        Components(plugins()).role("chunker", {"_target_": "murmur.chunker.Murmur"})
    (site / "murmur-1.0.dist-info" / "entry_points.txt").write_text("[rag.plugins]\nany = murmur.sub:thing\n", "utf-8")
    os.utime(site)
    monkeypatch.syspath_prepend(str(site))
    plugins.cache_clear()
    assert "murmur" in plugins()
    with pytest.raises(RuntimeError, match="composing imports no plugin"):
        Components(plugins()).role("chunker", {"_target_": "murmur.chunker.Murmur"})
    assert composed("chunker=murmur")["chunker"] == {"_target_": "murmur.chunker.Murmur", "size": 3}
    assert "murmur" in choices("chunker")
    assert composed("chunker=low")["chunker"] == {"_target_": "murmur.more.Low"}
    assert plugin_modules("verbs")[-1] == "murmur.more.verbs"


# Choices that are none


@pytest.mark.parametrize("group", ["chunker", "dataset", "index", "loader", "memory", "execute"])
def test_a_choice_that_there_is_not_lists_those_that_there_are(here: Path, group: str) -> None:
    lists = ("[bm25s,nope]", "[bm25s,5]") if group == "index" else ("{a: 1}",)
    for value in ("nope", "", "null", "5", "true", "[nope]", "'a b'", "../chunker/fixed.yaml", *lists):
        error = refused(f"{group}={value}")
        assert error.where == group
        assert "there is no choice" in error.what
        assert re.split("there is: ", error.remedy, flags=re.IGNORECASE)[1].split(", ") == choices(group)


# Values that are none


def test_a_missing_environment_variable_is_named(conf: Conf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_MODEL", raising=False)
    conf("chunker/mine.yaml", FIXED + "size: ${oc.env:ASSAY_MODEL}\n")
    error = refused("chunker=mine")
    assert (error.where, error.what) == ("chunker.size", "needs the environment variable ASSAY_MODEL")
    assert "export ASSAY_MODEL=" in error.remedy
    assert refused("k=${oc.env:ASSAY_MODEL}").where == "k"
    monkeypatch.setenv("ASSAY_MODEL", "50")
    assert composed("chunker=mine")["chunker"]["size"] == "50"


# Sweep syntax


@pytest.mark.parametrize(
    ("override", "singles"),
    [
        ("k=3", ["k=3"]),
        ("k=3,5", ["k=3", "k=5"]),
        ("k=range(1,4)", ["k=1", "k=2", "k=3"]),
        ("k=choice(1,2)", ["k=1", "k=2"]),
        ("index=[bm25s],[dense],[bm25s,dense]", ["index=[bm25s]", "index=[dense]", "index=[bm25s,dense]"]),
        ("index=[bm25s,dense]", ["index=[bm25s,dense]"]),
        ("+x.y=a,b", ["+x.y=a", "+x.y=b"]),
        ("prompt.system='a, b','c'", ["prompt.system='a, b'", "prompt.system='c'"]),
        ("~k", ["~k"]),
        ("a@b=c,d", ["a@b=c", "a@b=d"]),
    ],
)
def test_a_sweep_stands_for_single_overrides(override: str, singles: Sequence[str]) -> None:
    assert expanded(override) == singles


def test_a_pattern_stands_for_every_choice_that_fits(here: Path) -> None:
    assert expanded("chunker=glob(*)") == [f"chunker={choice}" for choice in choices("chunker")]
    assert expanded("chunker=glob(*,exclude=[w*,r*])") == [
        f"chunker={choice}" for choice in choices("chunker") if choice[0] not in "wr"
    ]
    with pytest.raises(ConfigError, match="matches no choice"):
        expanded("chunker=glob(x*)")
    assert expanded("index=glob(faiss_*)") == ["index=faiss_flat", "index=faiss_hnsw"]


PARTS = st.sampled_from(
    [
        *("a", "bm25s", "True", "true", "null", "nan", "Inf", "0", "007", "5", "0.90", "1e3", "-1", "1_0", ""),
        *("a/b-c.md", "/t", "nan-1", "x1.5"),
    ]
)
VALUES = st.lists(PARTS, max_size=3).map(",".join)


@given(
    st.sampled_from(["k", "a.b", "null", "a.0", "+k"]), VALUES | VALUES.map("[{}]".format) | st.text("aN_1./-,[]", max_size=5)
)
def test_what_needs_no_grammar_means_what_hydra_makes_of_it(key: str, value: str) -> None:
    text = f"{key}={value}"
    read = plain(text)
    if read is None and alternatives(text) is None:
        return
    hydra = OverridesParser.create().parse_override(text)
    if read:
        assert not hydra.is_sweep_override()
        assert [read.key_or_group, read.get_key_element(), read.package] == [hydra.key_or_group, hydra.get_key_element(), None]
        assert (repr(read.value()), read.input_line) == (repr(hydra.value()), hydra.input_line)
    else:
        assert alternatives(text) == [f"{hydra.get_key_element()}={value}" for value in hydra.sweep_string_iterator()]


@pytest.mark.parametrize("text", ["k=3", "index=[bm25s,dense]", "fusion.weights=[0.2,0.8]", "latency=null", "x.y=true"])
def test_usual_overrides_need_no_grammar(text: str) -> None:
    assert plain(text)
    assert alternatives("k=3,5,ten") == ["k=3", "k=5", "k=ten"]
