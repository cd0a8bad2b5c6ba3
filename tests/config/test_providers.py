"""`generator=auto`, and one small model for all components that ask one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.config.defaults_list import load
from rag.config.experiment import ad_hoc
from rag.config.listing import listing_json
from rag.core.errors import ConfigError
from rag.execution.sweep.open_config import config_of

KEYS = (
    *("OLLAMA_BASE_URL", "OLLAMA_MODEL", "VLLM_BASE_URL", "LLAMACPP_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    *("GROQ_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"),
)
ASKING = ("queries=rewrite", "memory=summary_model", "route=model", "passage=contextual", "enrich=model", "policy=gap_loop")
EACH = ("queries", "route", "passage", "enrich", "policy")


@pytest.fixture(autouse=True)
def no_keys(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, *(name for name in os.environ if name.endswith(("_MODEL", "_BASE_URL")))):
        monkeypatch.delenv(name, raising=False)


def test_the_first_variable_that_is_set_chooses_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in reversed(KEYS):
        monkeypatch.setenv(key, "key")
        name = key.partition("_")[0].lower()
        for group in ("generator", "helper"):
            assert load(f"{group}/auto") is load(f"{group}/{name}") is not None
    for name in KEYS[:6]:
        monkeypatch.setenv(name, " ")
    assert load("generator/auto") is load("generator/groq")


def test_without_a_key_nothing_is_chosen() -> None:
    with pytest.raises(ConfigError) as caught:
        load("generator/auto")
    assert all(name in caught.value.what for name in KEYS)
    assert "generator=extractive" in caught.value.remedy


def test_a_trial_holds_the_provider_and_its_model(monkeypatch: pytest.MonkeyPatch, conf: Callable[[str, str], Path]) -> None:
    conf("chooser/mine.yaml", "# @package _global_\ndefaults:\n  - override /generator: auto\n  - _self_\nk: 3\n")
    monkeypatch.setenv("GROQ_API_KEY", "key")
    monkeypatch.setenv("GROQ_MODEL", "groq-1")
    more = ("helper=auto", "queries=rewrite", "generator.max_tokens=9", "k=3")
    config = config_of(["+chooser=mine", *more])
    assert config == config_of(["generator=groq", *more])
    assert [config["generator"][name] for name in ("api_key_env", "model", "max_tokens")] == ["GROQ_API_KEY", "groq-1", 9]
    assert config["queries"]["generator"]["api_key_env"] == "GROQ_API_KEY"


def test_one_override_changes_the_model_of_all() -> None:
    def generators(*overrides: str) -> list[dict[str, Any]]:
        """The generators of all components that ask a small model."""
        config = config_of([*ASKING, *overrides])
        config["enrich"] = config["enrich"]["model"]
        return [*(config[name]["generator"] for name in EACH), config["memory"]["summarizer"]["generator"]]

    usual = generators()
    assert {made["model"] for made in usual} == {"gpt-4.1-mini"}
    assert [made["max_tokens"] for made in usual] == [96, 300, 160, 400, 200, 256]
    small = generators("helper.model=tiny", "helper.runtime.retries=1")
    assert {(made["model"], made["runtime"]["retries"]) for made in small} == {("tiny", 1)}
    claude = generators("helper=anthropic", "queries.generator.model=own")
    assert [made["model"] for made in claude] == ["own", *["claude-haiku-4-5"] * 5]
    assert {made["_target_"].rpartition(".")[2] for made in claude} == {"AnthropicGenerator"}


def test_a_config_holds_no_helper_and_a_trial_without_a_model_is_the_same_with_any() -> None:
    trials = ad_hoc(["queries=rewrite,carry_over", "helper=openai,anthropic"]).trials()
    found = [(trial.config["queries"].get("generator") or {}).get("model") for trial in trials]
    assert sorted(map(str, found)) == ["None", "claude-haiku-4-5", "gpt-4.1-mini"]
    assert all("helper" not in trial.config for trial in trials)


def test_the_listing_shows_where_a_model_comes_from() -> None:
    shown = {each["key"]: each["value"] for each in listing_json("queries", "rewrite")["parameters"]}
    assert (shown["queries.generator.model"], shown["queries.generator.max_tokens"]) == ("${helper.model}", 96)


@pytest.mark.parametrize(
    ("overrides", "checks"),
    [
        ([], {"off_topic": "refuse"}),
        (["generator=gold"], {"off_topic": "refuse"}),
        (["generator=closed_book"], {"off_topic": "refuse"}),
        (["generator=openai"], {"off_topic": "refuse", "citations": "flag", "numbers": "flag"}),
        (
            ["generator=openai", "check.numbers.on_failure=refuse", "~check.citations"],
            {"off_topic": "refuse", "numbers": "refuse"},
        ),
        (["generator=openai", "check=[off_topic]"], {"off_topic": "refuse"}),
        (["generator=openai", "check=none"], {}),
        (["preset=assay"], {"off_topic": "refuse"}),
        (["preset=assay", "generator=openai"], {"off_topic": "refuse", "citations": "flag", "numbers": "flag"}),
        (["preset=study_assistant", "generator=openai"], {"off_topic": "refuse"}),
    ],
)
def test_the_replies_of_a_model_are_checked_unless_checks_are_chosen(overrides: list[str], checks: dict[str, str]) -> None:
    assert {name: node["on_failure"] for name, node in config_of(overrides)["check"].items()} == checks
