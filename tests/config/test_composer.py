"""What our composer makes of files and overrides is what Hydra makes of them, and what is open is what OmegaConf fills in."""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.errors import HydraException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rag.config import composer as composing
from rag.config.catalog import LISTS, choices, first, installed_folders
from rag.config.compose import parsed, shipped
from rag.config.composer import Composer
from rag.config.defaults_list import PROVIDERS
from rag.config.interpolation import check_text
from rag.config.resolver import Resolver
from rag.core.errors import ConfigError, UserError

CONF = shipped("conf")
FILES = {
    "config": "defaults: [_self_, {size: small}, {set: plain}, {index: [a, b]}, {more: null}]\nk: 5\ntop: {a: 1, b: [1, 2]}\n",
    "size/small": "of: 3\ndeep: {x: 1, y: 2}\n",
    "size/large": "defaults: [small, _self_]\nof: 9\ndeep: {y: 5}\nword: ${k}\n",
    "size/odd": "defaults: [/base@inner, /base@_here_, {/set@kept: plain}]\nof: ???\nz: 1\n",
    "set/plain": "path: here\n",
    "set/own": "defaults: [{override /size@_global_.size: large}]\npath: there\n",
    "index/a": "a: {w: 1}\n",
    "index/b": "b: {w: 2}\na: {v: 3}\n",
    "more/whole": "# @package _global_\ndefaults: [override /set: own, override /index: [b], _self_]\nk: 6\nsize: {of: 4}\n",
    "more/placed": "# @package top.c\nq: 1\n",
    "more/gone": "defaults: [{optional /set@here: nope}, {override /size: odd}]\na: 1e3\n",
    "base": "of: 7\nbase: [1]\n",
}
OVERRIDES = [
    *("size=large", "size=odd", "set=own", "index=[a]", "index=b", "index=[]", "more=whole", "more=placed", "more=gone"),
    *("~set", "+set@extra=own", "size@other=large", "~set=plain", "~set=own"),
    *("k=7", "size.of=8", "size.deep.x=${k}", "size.deep={x:5,n:1}", "top.b.0=5", "top.b=[]", "top={a:2}", "+k=3", "++k=3"),
    *("+new.deep.key=1", "~top.a", "~size.deep", "+top={c:{d:1}}", "top.a.b=1", "nope=1", "size.nope=1", "k=???", "k=null"),
    *("size.word='a b'", "k@p=1", "k=1e2", "top.b='x=${k}'", "+top.b=[3]", "more.q=2"),
]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small files with every form of a defaults list, which the composer reads in place of conf/."""
    folder = tmp_path / "small"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    for module in ("composer", "catalog"):
        monkeypatch.setattr(f"rag.config.{module}.search_folders", lambda: [folder])
    return folder


def of_hydra(overrides: Sequence[str]) -> str:
    """The config of Hydra, as JSON in the order of its keys; empty where it refuses them."""
    try:
        return json.dumps(OmegaConf.to_container(hydra.compose("config", list(overrides)), resolve=False))
    except (HydraException, OmegaConfBaseException, ValueError):
        return ""


def of_ours(composer: Composer, overrides: Sequence[str]) -> str:
    try:
        return json.dumps(composer.config(parsed(overrides)))
    except UserError:
        return ""


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(OVERRIDES), max_size=4), min_size=1, max_size=3))
def test_any_overrides_compose_as_hydra_composes_them(small: Path, sets: list[list[str]]) -> None:
    composer = Composer()  # one for all: what it keeps of a config must not reach another
    with hydra.initialize_config_dir(str(small), version_base="1.3"):
        for overrides in [*sets, sets[0]]:
            assert of_ours(composer, overrides) == of_hydra(overrides), overrides


@pytest.mark.parametrize("override", OVERRIDES)
def test_one_override_composes_as_hydra_composes_it(small: Path, override: str) -> None:
    with hydra.initialize_config_dir(str(small), version_base="1.3"):
        for base in ([], ["more=whole"]):
            assert of_ours(Composer(), [*base, override]) == of_hydra([*base, override])


def batches() -> Iterator[list[str]]:
    """Overrides that name every shipped choice: those of a list at once, else one of each group in a batch."""
    wired = composing.Composer().config(()).keys() - {"data"}
    groups = [group for group in wired if (CONF / group).is_dir() and group not in (*LISTS, "preset")]
    named = ([f"{group}={name}" for name in choices(group) if _is_plain(group, name)] for group in groups)
    yield from ([*filter(None, turn)] for turn in itertools.zip_longest(*named))
    yield [f"{group}=[{','.join(choices(group))}]" for group in LISTS]
    yield from ([f"preset={name}", "generator=openai", "helper=groq"] for name in choices("preset"))


def _is_plain(group: str, name: str) -> bool:
    path = first(f"{group}/{name}")
    return bool(path and PROVIDERS not in path.read_text("utf-8"))


def test_every_shipped_choice_and_preset_composes_as_hydra_composes_it(here: Path) -> None:
    folders = f"hydra.searchpath=[{','.join(f'file://{folder}' for folder in installed_folders())}]"
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        for overrides in batches():
            settings = ["generator=openai", "helper=openai", *overrides] if "preset" not in str(overrides) else overrides
            assert of_ours(Composer(), settings) == of_hydra([folders, *settings]) != "", overrides


def test_equal_parts_are_one_object_and_no_config_changes_another(here: Path) -> None:
    made = Composer()
    first, second, again = (made.config(parsed([f"index.bm25s.k1={k1}"])) for k1 in (2, 3, 2))
    assert [config["index"]["bm25s"]["k1"] for config in (first, second, made.config(()))] == [2, 3, 1.2]
    assert first["index"] is again["index"]
    assert first["metric"] is second["metric"] is made.config(parsed(["chunker=fixed"]))["metric"]


# Interpolations

CONFIG = {
    "k": 7, "b": {"y": "why", "up": "${..k}", "list": [{"x": "${k}"}], "near": "${.y}"}, "link": "${b}", "none": None,
    "way": "${link.near}", "loop": "${loop}", "round": {"a": "${..round}"}, "dots": "${b.list[0].x}", "missing": "???",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *("${k}", "${ k }", "${..k}", "${b.y}", "${b[y]}", "${..b.y}", "x${k}-${b.y}", "${b}", "${link}"),
        *("${link.up}", "${way}"),
        *("${oc.select:k}", "${oc.select:nope,${k}}", "${oc.select:nope}", "${oc.select:nope,{}}", "${oc.select:none,5}"),
        *("${oc.select:missing,x}", '${oc.select:b.nope,""}', "${oc.select:..k}", "${oc.env:ASSAY_MODEL}"),
        "${oc.env:NOT_MODEL,${k}}",
        *("${oc.env:NOT_MODEL,null}", "${oc.env:NOT_MODEL,'http://x:1/y, z'}", "${oc.env:NOT_MODEL,a/b-1.5}"),
        "${none} ${none}",
        *("\\${k}", "\\\\${k}", "a\\b ${k}", "${dots}", "${b.list}", "plain", "${nope}", "${b.nope}", "${loop}"),
        *("${round}", "${missing}"),
        *("${k.x}", "${oc.env:NOT_MODEL}", "${b.list.5}", "${b.list.0.x}", "${oc.env:NOT_MODEL,${oc.env:ASSAY_MODEL,x}}"),
    ],
)
def test_interpolations_are_filled_in_as_omegaconf_does(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ASSAY_MODEL", "set")
    monkeypatch.delenv("NOT_MODEL", raising=False)
    config = {**CONFIG, "a": {"x": text}}
    try:
        node = OmegaConf.to_container(OmegaConf.create({"a": OmegaConf.create(config)}).a, resolve=False)
        made = OmegaConf.create(node)
        expected: Any = made.a.x
        expected = OmegaConf.to_container(expected, resolve=True) if OmegaConf.is_config(expected) else expected
    except (OmegaConfBaseException, RecursionError):
        with pytest.raises(ConfigError):
            Resolver()("a", config)
    else:
        assert Resolver()("a", config) == {"x": expected}


@pytest.mark.parametrize("text", ["${k", "${}", "${{}", "${a:'b}", "${.}", "${a b}", "x ${oc.env:A,${k}"])
def test_what_is_no_interpolation_is_named_with_its_place(text: str) -> None:
    with pytest.raises(ConfigError, match=r"x\.yaml:3: holds"):
        check_text("x.yaml:3", text)


def test_interpolations_are_filled_in_once_per_value_of_what_they_reach() -> None:
    resolver, first, second = Resolver(), {"x": "${b.y}", "z": 1}, {"y": "${k}"}
    kept: dict[int, Any] = {}
    for k in (1, 2, 1, 1):
        config = {"a": first, "b": second, "k": k, "other": object()}
        assert resolver("a", config) == {"x": k, "z": 1}
        assert resolver("a", config) is kept.setdefault(k, resolver("a", config))
    for _ in range(2):
        with pytest.raises(ConfigError, match="refers to b"):
            resolver("a", {"a": first})
    assert resolver("a", {"a": first, "b": {"y": 3}}) == {"x": 3, "z": 1}


def test_references_that_could_hold_a_secret_are_refused_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    for text in ("${oc.env:GITHUB_TOKEN}", "${oc.select:x,${oc.env:GITHUB_TOKEN}}", "${oc.decode:5}", "${${k}}"):
        with pytest.raises(ConfigError, match="configs read variables"):
            Resolver()("a", {"a": text, "k": 7})
