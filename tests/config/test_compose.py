"""Overrides become configs, and what is wrong with one is said in a line that helps."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf

import rag
from rag.config import compose as composing
from rag.config.catalog import plugin_modules
from rag.config.compose import choices, compose, expanded, hydra_ready, parsed, plugins, resolve, search_folders, shipped
from rag.config.hydra_session import compose_overrides
from rag.core.errors import ConfigError

Conf = Callable[[str, str], Path]
FIXED = "_target_: rag.components.chunkers.fixed.FixedChunker\n"


def composed(*overrides: str) -> dict[str, Any]:
    with hydra_ready():
        return resolve(compose(overrides))


def refused(*overrides: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        composed(*overrides)
    error = caught.value
    assert "provider=" not in str(error)
    assert "hydra.cc" not in str(error)
    assert "\n" not in error.what
    assert error.where
    assert error.what
    assert error.remedy
    return error


# What is composed


def test_the_wiring_holds_every_role_and_resolves(here: Path) -> None:
    config = composed()
    assert config["chunker"]["_target_"] == "rag.components.chunkers.recursive.RecursiveChunker"
    assert list(config["index"]) == ["bm25s", "dense"]
    assert set(composing._wiring()) - {"data", "helper"} == set(config) - {"data"}, "data is there with RAG_DATA only"
    assert "hydra" not in config


def test_overrides_choose_set_add_and_take_away(here: Path) -> None:
    config = composed("chunker=fixed", "chunker.size=7", "index=[bm25]", "k=3", "+chunker.runtime.fast=true", "~index.bm25.b")
    assert config["chunker"] == {
        "_target_": "rag.components.chunkers.fixed.FixedChunker",
        "size": 7,
        "overlap": 0,
        "runtime": {"fast": True},
    }
    assert list(config["index"]) == ["bm25"]
    assert "b" not in config["index"]["bm25"]
    assert config["k"] == 3
    assert composed("index=bm25")["index"].keys() == {"bm25"}


def test_a_dataset_brings_its_loader_unless_another_is_asked_for(here: Path) -> None:
    config = composed("dataset=beir", "dataset.path=x")
    assert (config["loader"]["_target_"], config["loader"]["path"]) == ("rag.components.loaders.beir.BeirLoader", "x")
    other = composed("dataset=beir", "dataset.path=x", "loader=folder")
    assert other["loader"]["_target_"] == "rag.components.loaders.folder.FolderLoader"


def test_several_compositions_share_one_hydra_and_none_is_left_over(here: Path) -> None:
    from hydra.core.global_hydra import GlobalHydra

    with hydra_ready():
        assert [compose([f"k={k}"]).k for k in (1, 2, 1)] == [1, 2, 1]
        before = resolve(compose([]))
        compose(["k=9", "chunker.size=9", "~chunker.overlap", "index.bm25s.k1=9", "embedder.runtime.device=x", "metrics=[a]"])
        assert resolve(compose([])) == before == composed()
    assert not GlobalHydra.instance().is_initialized()
    with pytest.raises(ZeroDivisionError), hydra_ready():
        raise ZeroDivisionError
    assert not GlobalHydra.instance().is_initialized()


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["k=3", "chunker=fixed", "chunker.size=7", "+chunker.runtime.fast=true"],
        ["chunker.size=7", "chunker=fixed", "index=[bm25]", "~index.bm25.b", "chunker={overlap: 3}"],
        ["dataset=beir", "dataset.path=x", "selector=[neighbours]", "metrics=[ndcg@10]", "++extra.a=1", "k=3", "k=4"],
        ["~judge", "+judge=local", "prompt=plain", "embedder=static", "embedder.runtime.cache=${store}/models"],
    ],
)
def test_kept_choices_and_values_give_what_hydra_composes(here: Path, overrides: list[str]) -> None:
    with hydra_ready():
        oracle = hydra.compose("config", overrides=overrides)
        for _ in range(2):
            found = compose_overrides(parsed(overrides))
            assert OmegaConf.to_yaml(found) == OmegaConf.to_yaml(oracle)
            assert OmegaConf.is_struct(found)
            found.k = 9


# Where choices are looked for


def test_ones_own_choices_come_first_and_add_to_ours(conf: Conf) -> None:
    conf("chunker/mine.yaml", FIXED + "size: 11\n")
    conf("chunker/recursive.yaml", FIXED + "size: 12\n")
    assert composed("chunker=mine")["chunker"]["size"] == 11
    assert composed()["chunker"]["size"] == 12
    assert {"mine", "fixed", "recursive"} <= set(choices("chunker"))


def test_ones_own_wiring_comes_first(conf: Conf) -> None:
    ours = (shipped("conf") / "config.yaml").read_text("utf-8")
    conf("config.yaml", ours.replace("k: 5 ", "k: 4 ") + "\nsizes: {small: 50}\n")
    conf("chunker/mine.yaml", FIXED + "size: ${sizes.small}\n")
    config = composed("chunker=mine")
    assert (config["k"], config["chunker"]["size"]) == (4, 50)


def test_ones_own_groups_can_be_nested_and_added(conf: Conf) -> None:
    conf("chunker/tuned/small.yaml", FIXED + "size: 13\n")
    conf("notes/one.yaml", "author: me\n")
    config = composed("chunker=tuned/small", "+notes=one")
    assert config["chunker"]["size"] == 13
    assert config["notes"] == {"author": "me"}


def test_folders_are_looked_into_once_and_only_where_they_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = search_folders()
    assert found == [shipped("conf"), *sorted(Path(rag.__file__).parent.glob("plugins/*/conf"))]
    monkeypatch.chdir(shipped("conf").parent)
    assert search_folders() == found


def test_a_folder_whose_name_is_hard_to_write_is_found(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "a b%20ü'#"
    (folder / "conf" / "chunker").mkdir(parents=True)
    (folder / "conf" / "chunker" / "mine.yaml").write_text(FIXED + "size: 14\n", encoding="utf-8")
    monkeypatch.chdir(folder)
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
    (site / "murmur-1.0.dist-info" / "entry_points.txt").write_text("[rag.plugins]\nany = murmur.sub:thing\n", "utf-8")
    os.utime(site)
    monkeypatch.syspath_prepend(str(site))
    plugins.cache_clear()
    assert "murmur" in plugins()
    assert composed("chunker=murmur")["chunker"] == {"_target_": "murmur.chunker.Murmur", "size": 3}
    assert "murmur" in choices("chunker")
    assert composed("chunker=low")["chunker"] == {"_target_": "murmur.more.Low"}
    assert plugin_modules("verbs")[-1] == "murmur.more.verbs"


def test_what_is_shipped_is_there() -> None:
    assert (shipped("conf") / "config.yaml").is_file()
    assert shipped("experiments").is_dir()


# Choices that are none


@pytest.mark.parametrize(
    "group", ["chunker", "dataset", "embedder", "fusion", "generator", "loader", "memory", "prompt", "execute"]
)
@pytest.mark.parametrize("value", ["nope", "", "null", "5", "true", "[nope]", "{a: 1}", "'a b'", "../chunker/fixed.yaml"])
def test_a_choice_that_there_is_not_lists_those_that_there_are(here: Path, group: str, value: str) -> None:
    error = refused(f"{group}={value}")
    assert error.where == group
    assert "there is no choice" in error.what
    listed = re.split("there is: ", error.remedy, flags=re.IGNORECASE)[1]
    assert listed.split(", ") == choices(group)


@pytest.mark.parametrize("value", ["nope", "[nope]", "[bm25s,nope]", "[bm25s,5]", "null"])
def test_lists_of_choices_are_checked_one_by_one(here: Path, value: str) -> None:
    error = refused(f"index={value}")
    assert (error.where, error.remedy) == ("index", f"there is: {', '.join(choices('index'))}")


def test_the_closest_choice_is_named(here: Path) -> None:
    assert refused("chunker=fixd").remedy.startswith("did you mean 'fixed'? There is: ")
    assert refused("metric=[recall,precison]").remedy.startswith("did you mean 'precision'?")
    assert "fixed" in refused("chunker=[fixed,recursive]").remedy


def test_a_choice_inside_a_choice_is_named(conf: Conf) -> None:
    conf("chunker/mine.yaml", "defaults: [/embedder@inner: minlm]\n" + FIXED)
    error = refused("chunker=mine")
    assert (error.where, error.what) == ("embedder", "there is no choice 'minlm'")
    assert "did you mean 'minilm'?" in error.remedy


@pytest.mark.parametrize(
    ("override", "where"), [("index=[]", "index"), ("metric=[]", "metric"), ("~fusion", "fusion"), ("~k", "k")]
)
def test_what_every_config_needs_cannot_be_left_out(here: Path, override: str, where: str) -> None:
    assert refused(override).where == where


# Keys that are none


@pytest.mark.parametrize(
    ("override", "what", "closest"),
    [
        ("embeder=minilm", "there is no 'embeder' in the wiring", "embedder"),
        ("chunkr.size=5", "there is no 'chunkr' in the wiring", "chunker"),
        ("kk=5", "there is no 'kk' in the wiring", "k"),
        ("rerankdepth=5", "there is no 'rerankdepth' in the wiring", "rerank_depth"),
        ("chunker.siez=5", "there is no 'siez' in chunker", "size"),
        ("index.bm25.k1=1", "there is no 'bm25' in index", "bm25s"),
        ("index.bm25s.k=1", "there is no 'k' in index.bm25s", "k1"),
        ("embedder.runtime.thread=1", "there is no 'thread' in embedder.runtime", "threads"),
        ("~chunker.siz", "there is no 'siz' in chunker", "size"),
        ("~chunkr", "there is no 'chunkr' in the wiring", "chunker"),
        ("chunker@other=fixed", "there is no 'chunker@other' in the wiring", "chunker"),
    ],
)
def test_a_misspelt_key_says_where_and_names_the_closest(here: Path, override: str, what: str, closest: str) -> None:
    error = refused("chunker=recursive", "k=3", override)
    assert what == error.what
    assert f"did you mean {closest!r}?" in error.remedy
    assert error.where == override.lstrip("~").split("=")[0]


def test_a_key_below_a_value_is_reported(here: Path) -> None:
    error = refused("chunker.size.most=5")
    assert error.what == "chunker.size is 800 and holds no keys"


def test_a_group_that_is_a_key_is_reported(here: Path) -> None:
    assert refused("k=3", "chunker/size=fixed").where == "chunker/size"


def test_two_misspelt_keys_say_one_of_them(here: Path) -> None:
    assert refused("embeder=minilm", "chunkr.size=5").where in ("embeder", "chunkr.size", "embeder=minilm chunkr.size=5")


@pytest.mark.parametrize(
    "override",
    [
        *("", "k", "=5", "k=5=6", "k=[1", "k='a", "k={a", "k=a b=c d", "+k=5", "+chunker=fixed", "++chunker=fixed"),
        *("k=1,2", "k=choice(1,2)"),
        *("hydra=5", "hydra/launcher=x", "hydra.run.dir=x", "k=range(1,4)", "chunker=glob(*)", "chunker=fixed,recursive"),
    ],
)
def test_what_is_not_an_override_is_reported(here: Path, override: str) -> None:
    assert len(str(refused("depth=20", override))) < 300


def test_several_values_say_how_to_have_them(here: Path) -> None:
    error = refused("k=1,2")
    assert (error.where, error.what) == ("k=1,2", "names several values")
    assert "k=[a,b]" in error.remedy


# Values that are none


def test_a_missing_value_names_its_key(here: Path) -> None:
    error = refused("dataset=native")
    assert (error.where, error.remedy) == ("dataset.path", "give it: dataset.path=<value>")
    error = refused("execute=cluster")
    assert (error.where, error.remedy) == ("execute.address", "give it: execute.address=<value>")


def test_a_missing_environment_variable_is_named(conf: Conf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_MODEL", raising=False)
    conf("chunker/mine.yaml", FIXED + "size: ${oc.env:ASSAY_MODEL}\n")
    error = refused("chunker=mine")
    assert (error.where, error.what) == ("chunker.size", "needs the environment variable ASSAY_MODEL")
    assert "export ASSAY_MODEL=" in error.remedy
    assert refused("k=${oc.env:ASSAY_MODEL}").where == "k"
    monkeypatch.setenv("ASSAY_MODEL", "50")
    assert composed("chunker=mine")["chunker"]["size"] == "50"


@pytest.mark.parametrize("value", ["${nope}", "${nope.x}", "${nope:1}", "${chunker.siz}", "${k}"])
def test_an_interpolation_that_leads_nowhere_is_reported(here: Path, value: str) -> None:
    error = refused(f"k={value}")
    assert error.where == "k"


# Files that are none


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{a: [", "1"),
        ("a: 1\n b: 2", "2"),
        ("a: 1\na: 2\n", "2"),
        ("\tx: 1", "1"),
        ("a: @b", "1"),
        ("a: !!python/object:os.system x", "1"),
    ],
)
def test_a_file_that_is_no_yaml_is_named_with_its_line(conf: Conf, text: str, output: str) -> None:
    path = conf("chunker/mine.yaml", text)
    error = refused("chunker=mine")
    assert error.where == f"{path}:{output}"
    assert "is not valid YAML" in error.what


def test_a_file_that_is_no_text_is_named(conf: Conf) -> None:
    path = conf("chunker/mine.yaml", "")
    path.write_bytes(b"\xff\xfe\x00")
    assert refused("chunker=mine").where == str(path)


@pytest.mark.parametrize("text", ["- a\n- b", "just text", "", "5", "null", "[]", "a: 1"])
def test_a_file_that_is_no_component_is_reported(conf: Conf, text: str) -> None:
    from rag.config.build import Components

    conf("chunker/mine.yaml", text)
    with pytest.raises(ConfigError, match="chunker"):
        Components().role("chunker", composed("chunker=mine")["chunker"])


@pytest.mark.parametrize(
    "text", ["- a", "text", "", "defaults: 5", "defaults: [5]", "defaults: [chunker: fixed, chunker: fixed]"]
)
def test_a_wiring_that_is_none_is_reported(conf: Conf, text: str) -> None:
    conf("config.yaml", text)
    refused("k=5")


@pytest.mark.parametrize("text", ["size: ${k", "size: ${{}", "defaults: [nope]", "defaults: {a: b}", "defaults: [/nope: x]"])
def test_a_file_that_hydra_cannot_read_is_reported(conf: Conf, text: str) -> None:
    conf("chunker/mine.yaml", f"{text}\n_target_: x\n")
    assert len(str(refused("chunker=mine"))) < 400


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
    assert expanded("index=glob(faiss_*)") == ["index=faiss_flat", "index=faiss_hnsw", "index=faiss_ivf"]


def test_parsing_knows_sweeps() -> None:
    assert [override.is_sweep_override() for override in parsed(["k=3", "k=3,5", "k=[3,5]"])] == [False, True, False]
    with pytest.raises(ConfigError, match=r"write key=value"):
        parsed(["k=3", "k"])
