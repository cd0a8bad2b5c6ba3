"""Presets on machines that lack parts: what stands in, what a user's own choice does, and how trials are marked."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from rag.cli.questions import _with_follow_ups
from rag.config.catalog import choice, choices
from rag.config.compose import compose, resolve
from rag.config.defaults_list import providers
from rag.config.experiment import ad_hoc
from rag.config.search_space import Trial, own_judge_remarks, stand_in_remarks
from rag.config.servers import components_in
from rag.config.stand_ins import lacks_model, remark, replaced, stand_ins
from rag.core.errors import ConfigError
from rag.core.files import shipped
from rag.execution.sweep.open_config import config_of

PRESETS = [name for name in choices("preset") if name != "none"]
KEY = {"key": ["ASSAY_KEY"], "use": ["generator=extractive", "queries=none"]}


def composed(*overrides: str) -> dict[str, Any]:
    return resolve(compose(overrides))


def target(config: dict[str, Any], group: str) -> str:
    return str(config[group]["_target_"]).rpartition(".")[2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a preset of its own, `tiny`, that needs the key ASSAY_KEY."""
    folder = tmp_path / "conf" / "preset"
    folder.mkdir(parents=True)
    text = """# @package _global_
    # For tests
    defaults:
      - override /generator: openai
      - override /memory: buffer
      - _self_
    generator: {temperature: 0.3}
    memory: {turns: 3}
    stand_ins: [{key: [ASSAY_KEY], use: [generator=extractive, queries=last_turn]}]
    """
    (folder / "tiny.yaml").write_text(text.replace("\n    ", "\n"), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_KEY", raising=False)
    return tmp_path


def test_each_kind_of_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ASSAY_KEY", raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    declared = [
        KEY,
        {"server": "ASSAY_URL", "use": ["index=[dense]"]},
        {"package": "no_such_package", "use": ["embedder=minilm"]},
        {"package": "json", "use": ["embedder=hashing"]},
        {"model": "owner/never-fetched", "revision": "0" * 40, "use": ["reranker=none", "rerank_depth.x=3"]},
    ]
    overrides, sentences = stand_ins(declared, {})
    assert overrides == [
        *("generator=extractive", "queries=none", "index=[dense]", "embedder=minilm", "reranker=none"),
        "rerank_depth.x=3",
    ]
    assert sentences[0] == "a key (ASSAY_KEY) is missing: generator=extractive queries=none stand in"
    assert sentences[1] == "a server (ASSAY_URL) is missing: index=[dense] stands in"
    assert sentences[2] == "the package no_such_package is missing: embedder=minilm stands in"
    assert sentences[3] == "owner/never-fetched is missing: reranker=none stands in"
    monkeypatch.setenv("ASSAY_KEY", "k")
    assert stand_ins([KEY], {}) == ([], [])
    assert stand_ins(declared[-1:], {"reranker": "mmr"}) == ([], []), "values go with their choice"


def test_a_choice_of_the_user_has_no_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_KEY", raising=False)
    assert stand_ins([KEY], {"generator": "openai"})[0] == ["queries=none"]
    assert stand_ins([KEY], {"generator": "openai", "queries": "hyde"}) == ([], [])


@pytest.mark.parametrize("entry", ["text", {"use": ["a=b"]}, {"key": "A", "model": "b", "use": []}, {"key": "A", "use": "a=b"}])
def test_a_list_that_cannot_be_read(entry: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        stand_ins([entry], {})
    assert caught.value.where == "stand_ins[0]"


def test_a_preset_without_its_key(here: Path) -> None:
    config = composed("preset=tiny", "generator.floor=.2")
    assert (target(config, "generator"), config["generator"]["floor"], "temperature" in config["generator"]) == (
        "ExtractiveGenerator",
        0.2,
        False,
    )
    assert config["memory"]["turns"] == 3
    assert config["stand_ins"] == ["a key (ASSAY_KEY) is missing: generator=extractive queries=last_turn stand in"]


def test_the_preset_of_a_wiring_of_ones_own(here: Path) -> None:
    wiring = (shipped("conf") / "config.yaml").read_text("utf-8").replace("preset: none", "preset: tiny")
    (here / "conf" / "config.yaml").write_text(wiring, "utf-8")
    assert composed()["stand_ins"] == ["a key (ASSAY_KEY) is missing: generator=extractive queries=last_turn stand in"]
    assert "stand_ins" not in composed("generator=extractive", "queries=none", "memory=none")
    assert [ad_hoc(more).trials()[0].name for more in ([], ["preset=none"])] == ["tiny *", "default"]


def test_values_of_a_preset_do_not_reach_another_choice(here: Path) -> None:
    config = composed("preset=tiny", "generator=openai", "memory=none")
    assert (config["generator"]["temperature"], target(config, "memory")) == (0, "NoMemory")
    assert config["stand_ins"] == ["a key (ASSAY_KEY) is missing: queries=last_turn stands in"]


def test_trials_with_a_stand_in_are_marked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = ad_hoc(["preset=none,tiny"]).trials()
    assert [trial.name for trial in trials] == ["none", "tiny *"]
    assert stand_in_remarks(trials) == (
        "tiny *: generator=extractive queries=last_turn stand in.",
        "Missing: a key (ASSAY_KEY).",
    )
    assert [trial.name for trial in ad_hoc(["preset=tiny", "depth=50"]).trials()] == ["tiny *"]
    monkeypatch.setenv("ASSAY_KEY", "k")
    assert [trial.name for trial in ad_hoc(["preset=none,tiny"]).trials()] == ["none", "tiny"]
    assert [ad_hoc(["preset=tiny", *more]).trials()[0].name for more in ([], ["k=3,4"])] == ["tiny", "k 3"]


def test_an_axis_of_presets_beside_an_axis_of_one_of_their_parts(here: Path) -> None:
    """Each trial says what stands in for it and not for another one, also where the stand-in is the default."""
    trials = {trial.name: trial.config for trial in ad_hoc(["preset=none,tiny", "generator=extractive,none"]).trials()}
    assert list(trials) == ["none · extractive", "none · none", "tiny · extractive *", "tiny · none *"]
    for name in ("tiny · extractive *", "tiny · none *"):
        assert trials[name]["stand_ins"] == ["a key (ASSAY_KEY) is missing: queries=last_turn stands in"]
    assert target(trials["tiny · none *"], "generator") == "NoGenerator"


def test_a_conversation_rewrites_as_its_preset_does() -> None:
    assert _with_follow_ups(["preset=tiny"]) == ["preset=tiny"]
    assert _with_follow_ups(["preset=none", "k=3"]) == ["queries=carry_over", "preset=none", "k=3"]


@pytest.mark.parametrize("name", PRESETS)
def test_shipped_presets(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preset asks no model without a provider, and one provider alone with any, by its variables or as the user's choice."""

    def asked(*more: str) -> set[str]:
        config = composed(f"preset={name}", *more)
        nodes = (node for role, part in config.items() if role != "judge" for node in components_in(part))
        return {node["api_key_env"] for node in nodes if "model" in node and "api_key_env" in node}

    known = providers(choice("generator", "auto"))
    monkeypatch.setenv("HF_HUB_CACHE", str(here))
    for variable in (*chain(*known.values()), "QDRANT_URL"):
        monkeypatch.delenv(variable, raising=False)
    without = composed(f"preset={name}")
    assert (target(without, "generator"), lacks_model(without), asked()) == ("ExtractiveGenerator", True, set())
    assert [len(line) < 140 for line in remark(without).splitlines()] == [True, True]
    for provider, variables in known.items():
        assert len(chosen := asked(f"generator={provider}")) == 1
        assert "a key or server" not in remark(composed(f"preset={name}", f"generator={provider}"))
        for variable in variables:
            monkeypatch.setenv(variable, "http://127.0.0.1:9/v1" if variable.endswith("_URL") else "some")
            assert asked() == chosen, variable
            monkeypatch.delenv(variable)
    assert lacks_model(composed(f"preset={name}", "helper=groq")), "no provider of the answer is named"
    assert asked("helper=groq") <= {"GROQ_API_KEY"}


def test_another_choice_for_a_stand_in_is_not_said_to_stand_in() -> None:
    said = ["a key (A or B) is missing: generator=extractive queries=last_turn stand in", "of one's own"]
    assert replaced(said, ["generator"]) == ["a key (A or B) is missing: queries=last_turn stands in", "of one's own"]
    assert replaced(said, ["generator", "queries"]) == ["of one's own"]
    assert replaced(said, []) == said


def test_a_data_set_with_a_loader_of_its_own(here: Path) -> None:
    preset = here / "conf" / "preset" / "tiny.yaml"
    preset.write_text(preset.read_text("utf-8") + "loader: {ingest: documentation}\n", "utf-8")
    config = composed("preset=tiny", "dataset=squad", "dataset.path=somewhere")
    assert set(config["loader"]) == {"_target_", "path"}
    assert config["stand_ins"][1] == "the data set has a loader of its own: loader.ingest of the preset does not apply"
    assert "documentation" in str(composed("preset=tiny")["loader"]["ingest"])


def test_a_model_that_judges_its_own_answers_is_named() -> None:
    nodes = ["generator=openai", "generator.model=one", "judge=llm"]
    own, other = (Trial(name, {}, config_of([*nodes, f"judge.generator.model={name}"])) for name in ("one", "two"))
    keyless = Trial("keyless", {}, config_of([]))
    assert own_judge_remarks([other, keyless]) == ()
    (said,) = own_judge_remarks([own, own, keyless])
    assert said.startswith("one judges its own answers")
