"""`generator=auto`, and one small model for all components that ask one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.config.experiment import ad_hoc
from rag.config.listing import listing_json
from rag.core.errors import ConfigError
from rag.execution.sweep.open_config import config_of

KEYS = ("OPENAI_API_KEY", "GROQ_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY")
HOSTS = ("None", "api.groq.com", "generativelanguage.googleapis.com", "generativelanguage.googleapis.com", "api.anthropic.com")
ASKING = ("queries=rewrite", "memory=summary_model", "route=model", "passage=contextual", "enrich=model", "policy=gap_loop")
EACH = ("queries", "route", "passage", "enrich", "policy")


@pytest.fixture(autouse=True)
def no_keys(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, *(name for name in os.environ if name.endswith(("_MODEL", "_BASE_URL")))):
        monkeypatch.delenv(name, raising=False)


def generators(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The generators of all components that ask a small model."""
    return [*(config[name]["generator"] for name in EACH), config["memory"]["summarizer"]["generator"]]


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_the_first_key_that_is_set_chooses_the_provider(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    for name in KEYS[number:]:
        monkeypatch.setenv(name, "key")
    config = config_of(["generator=auto", "generator.max_tokens=9"])
    made = config["generator"]
    assert HOSTS[number] in str(made["base_url"])
    assert (made["api_key_env"], made["max_tokens"]) == (KEYS[number], 9)
    named = {"OPENAI": "openai", "GROQ": "groq", "GOOGLE": "google", "GEMINI": "gemini", "ANTHROPIC": "anthropic"}
    provider = named[KEYS[number].partition("_")[0]]
    assert config == config_of([f"generator={provider}", "generator.max_tokens=9"]), "a trial holds the provider, not `auto`"
    helped = config_of(["helper=auto", "queries=rewrite"])["queries"]["generator"]
    assert helped["api_key_env"] == KEYS[number]


def test_models_come_from_the_variables_of_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, variable in zip(KEYS, ("OPENAI", "GROQ", "GOOGLE", "GEMINI", "ANTHROPIC"), strict=True):
        monkeypatch.setenv(key, "key")
        monkeypatch.setenv(f"{variable}_MODEL", f"{variable}-1")
        assert config_of(["generator=auto"])["generator"]["model"] == f"{variable}-1"
        monkeypatch.delenv(key)


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
