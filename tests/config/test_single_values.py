"""A config whose last values were set without Hydra is the config that Hydra composes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

from rag.config.compose import compose, hydra_ready
from rag.config.single_values import Composer
from rag.core.errors import UserError

GROUPS = [
    "chunker=fixed",
    "index=[bm25s]",
    "index=[dense,bm25]",
    "dataset=native",
    "generator=openai",
    "selector=[mmr]",
    "~judge",
]
LEAVES = [
    *("index.bm25s.k1=0.5", "index.bm25s.b=1", "index.bm25s.analyser=words", "index.bm25s.analyser=null"),
    *("chunker.size=9", "chunker.size=${k}", "chunker.size='${oc.select:k}'", "chunker.overlap=???", "chunker=5"),
    *("metrics=[recall@5]", "metrics=[]", "metrics=x", "metrics.0=y", "metrics=[{a:1},[2]]", "pinned=[a.md]"),
    *("budget.usd=5", "budget={usd:1}", "budget=3", "budget.usd.cents=4", "store='a b'", "data=${store}", "k=1e3", "k=0x1"),
    *("generator.model=m", "prompt.system='a=b, ${k}'", "dataset.path=${..split}", "loader.path=/x"),
]
ODD = ["+extra.a=1", "++k=7", "+k=7", "~chunker.overlap", "+extra={a:{b:2}}", "extra.a=3", "kk=1", "chunker.none=1", "k@p=1"]
"""Overrides of groups, of single values, and of all else; some cannot be composed, alone or with others."""


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with hydra_ready():
        yield


def whole(overrides: Sequence[str]) -> str:
    """What Hydra makes of them, in the order of its keys; empty where it makes nothing."""
    try:
        return json.dumps(OmegaConf.to_container(compose(overrides), resolve=False))
    except UserError:
        return ""


def set_after(composer: Composer, overrides: Sequence[str]) -> str:
    try:
        return json.dumps(composer(overrides))
    except UserError:
        return ""


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(GROUPS), max_size=2, unique=True),
    st.lists(st.sampled_from(LEAVES), min_size=1, max_size=4),
    st.lists(st.sampled_from(ODD), max_size=1),
    st.randoms(use_true_random=False),
)
def test_any_overrides_give_what_hydra_composes(groups: list[str], leaves: list[str], odd: list[str], random: Any) -> None:
    overrides = [*groups, *leaves, *odd]
    random.shuffle(overrides)
    assert set_after(COMPOSER, overrides) == whole([*FIXED, *overrides])


FIXED = ["index=[bm25s,dense]", "k=4", "+base.size=7"]
COMPOSER = Composer(FIXED, compose)
"""One for all examples, as one space has one: what it keeps of a combination must not reach another."""


@pytest.mark.parametrize("override", LEAVES)
def test_one_override_gives_what_hydra_composes(override: str) -> None:
    assert set_after(COMPOSER, [override]) == whole([*FIXED, override])


def counted() -> tuple[Composer, list[Sequence[str]]]:
    asked: list[Sequence[str]] = []

    def count(overrides: Sequence[str]) -> DictConfig:
        asked.append(tuple(overrides))
        return compose(overrides)

    return Composer([], count), asked


def test_values_after_the_last_odd_override_are_set() -> None:
    composer, asked = counted()
    for value in range(3):
        config = composer([f"k={value}", "+extra.a=1", f"depth={value}", "chunker=fixed", f"chunker.size={value}"])
        assert (config["k"], config["depth"], config["chunker"]["size"]) == (value, value, value)
    assert asked == [(f"k={value}", "+extra.a=1", "chunker=fixed") for value in range(3)]


def test_equal_values_are_one_object_and_no_config_changes_another() -> None:
    composer, _ = counted()
    first, second = composer(["index.bm25s.k1=2"]), composer(["index.bm25s.k1=3"])
    assert first["index"]["bm25s"]["k1"] == 2
    assert second["index"]["bm25s"]["k1"] == 3
    assert composer([])["index"]["bm25s"]["k1"] == 1.2
    assert first["metric"] is second["metric"]
    assert composer(["k=9", "index.bm25s.k1=2"])["index"] is first["index"]


@dataclass
class Typed:
    """A declared choice."""

    size: int = 3


@pytest.mark.parametrize("node", [OmegaConf.structured(Typed), OmegaConf.create({"size": 3}, flags={"readonly": True})])
def test_values_with_types_or_flags_are_left_to_hydra(node: DictConfig) -> None:
    asked: list[Sequence[str]] = []

    def count(overrides: Sequence[str]) -> DictConfig:
        asked.append(tuple(overrides))
        return OmegaConf.create({"typed": node})

    Composer([], count)(["typed.size='5'"])
    assert asked == [(), ("typed.size='5'",)]
