"""`generator=auto`, and one small model for all components that ask one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra

from rag.config.experiment import ad_hoc
from rag.config.hydra_session import hydra_ready
from rag.config.listing import listing_json
from rag.config.single_values import unresolved
from rag.core.errors import ConfigError
from rag.core.files import shipped
from rag.execution.sweep.open_config import config_of

KEYS = ("OPENAI_API_KEY", "GROQ_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY")
HOSTS = (
    "OPENAI_BASE_URL,null",
    "api.groq.com",
    "generativelanguage.googleapis.com",
    "generativelanguage.googleapis.com",
    "api.anthropic.com",
)
ASKING = ("queries=rewrite", "memory=summary_model", "route=model", "passage=contextual", "enrich=model", "policy=gap_loop")
EACH = ("queries", "route", "passage", "enrich", "policy")


@pytest.fixture(autouse=True)
def no_keys(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, *(name for name in os.environ if name.endswith(("_MODEL", "_BASE_URL")))):
        monkeypatch.delenv(name, raising=False)


def generators(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The generators of all components that ask a small model."""
    return [*(config[name]["generator"] for name in EACH), config["memory"]["summarizer"]["generator"]]


def read(name: str) -> dict[str, Any]:
    """A choice as Hydra reads it: its file, or that of the provider which `auto` stands for."""
    with hydra_ready():
        return unresolved(GlobalHydra.instance().config_loader().repository.load_config(f"{name}.yaml").config)


def test_the_first_key_that_is_set_chooses_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, host in reversed([*zip(KEYS, HOSTS, strict=True)]):
        monkeypatch.setenv(key, "key")
        name = key.partition("_")[0]
        assert (helper := read("helper/auto")) == read(f"helper/{name.lower()}")
        assert name == "ANTHROPIC" or f"{{oc.env:{name}_MODEL" in helper["model"]
        assert f"/generator/{name.lower()}@_here_" in (shipped("conf") / f"helper/{name.lower()}.yaml").read_text("utf-8")
        assert (found := read("generator/auto")) == read(f"generator/{name.lower()}")
        assert key in str(found)
        assert f"{{oc.env:{name}_MODEL" in found["model"]
        assert host in str(found["base_url"])


def test_a_trial_holds_the_provider_and_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "key")
    monkeypatch.setenv("GROQ_MODEL", "groq-1")
    more = ("helper=auto", "queries=rewrite", "generator.max_tokens=9")
    config = config_of(["generator=auto", *more])
    assert config == config_of(["generator=groq", *more])
    assert [config["generator"][name] for name in ("api_key_env", "model", "max_tokens")] == ["GROQ_API_KEY", "groq-1", 9]
    assert config["queries"]["generator"]["api_key_env"] == "GROQ_API_KEY"


def test_without_a_key_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(ConfigError) as caught:
        config_of(["generator=auto"])
    assert all(name in caught.value.what for name in KEYS)
    assert "generator=extractive" in caught.value.remedy


def test_a_choice_of_another_file_may_be_auto(monkeypatch: pytest.MonkeyPatch, conf: Callable[[str, str], Path]) -> None:
    conf("chooser/mine.yaml", "# @package _global_\ndefaults:\n  - override /generator: auto\n  - _self_\nk: 3\n")
    monkeypatch.setenv("GROQ_API_KEY", "key")
    config = config_of(["+chooser=mine"])
    assert (config["generator"]["api_key_env"], config["k"]) == ("GROQ_API_KEY", 3)


def test_one_override_changes_the_model_of_all() -> None:
    usual = generators(config_of([*ASKING]))
    assert {made["model"] for made in usual} == {"gpt-4.1-mini"}
    assert [made["max_tokens"] for made in usual] == [96, 300, 160, 400, 200, 256]
    small = generators(config_of([*ASKING, "helper.model=tiny", "helper.runtime.retries=1"]))
    assert {(made["model"], made["runtime"]["retries"]) for made in small} == {("tiny", 1)}
    claude = generators(config_of([*ASKING, "helper=anthropic", "queries.generator.model=own"]))
    assert [made["model"] for made in claude] == ["own", *["claude-haiku-4-5"] * 5]
    assert {made["_target_"].rpartition(".")[2] for made in claude} == {"AnthropicGenerator"}


def test_a_config_holds_no_helper_and_a_trial_without_a_model_is_the_same_with_any() -> None:
    config = config_of(["generator=anthropic"])
    assert "helper" not in config
    trials = ad_hoc(["queries=rewrite,carry_over", "helper=openai,anthropic"]).trials()
    found = [(trial.config["queries"].get("generator") or {}).get("model") for trial in trials]
    assert sorted(map(str, found)) == ["None", "claude-haiku-4-5", "gpt-4.1-mini"]
    assert all("helper" not in trial.config for trial in trials)


def test_the_listing_shows_where_a_model_comes_from() -> None:
    shown = {each["key"]: each["value"] for each in listing_json("queries", "rewrite")["parameters"]}
    assert (shown["queries.generator.model"], shown["queries.generator.max_tokens"]) == ("${helper.model}", 96)
