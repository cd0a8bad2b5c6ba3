"""One key `language`, from the wiring to the components, and those that do not know it."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb, verb
from support.small_set import write_golden

from rag.config.compose import compose, composing, resolve
from rag.core.errors import ConfigError
from rag.core.text.languages import check_language

SMALL = ["dataset=native", "dataset.path=golden", "embedder=hashing", "index=[bm25s]", "fusion=single", "latency=0"]


@pytest.fixture
def rag(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.chdir(tmp_path)
    write_golden(tmp_path / "golden")
    return verb(capsys, monkeypatch)


def languages(config: dict[str, Any]) -> set[str]:
    """The languages among the parameters of a config, word lists aside."""
    written = json.dumps({key: value for key, value in config.items() if key != "language"})
    return {name for name in ("english", "german") if f'": "{name}"' in written}


def test_the_key_reaches_every_component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with composing():
        for more in (
            [],
            ["chunker=token", "memory=two_layer", "queries=carry_over"],
            ["chunker=sentence", "memory=summary_buffer"],
        ):
            config = resolve(compose(["language=german", *more]))
            assert languages(config) == {"german"}
            assert languages(resolve(compose(more))) == {"english"}
        with pytest.raises(ConfigError, match=r"index\.bm25s\.analyser"):
            resolve(compose(["index.bm25s.analyser=stem"]))


def test_components_of_another_language_are_named_by_plan_and_run(rag: Verb) -> None:
    gaps = rag("run", *SMALL, "language=german", "--no-track", "--json").json["notes"]
    named = ["check.off_topic (OffTopicCheck)", "generator (ExtractiveGenerator)"]
    assert [gap for gap in gaps if "language is german" in gap] == [
        f"{name}: its rules, words or weights are for english only, and language is german." for name in named
    ]
    Path("study.yaml").write_text(
        f"question: Which?\nfixed: {json.dumps([*SMALL, 'language=german', 'metrics=[ndcg@10,faithfulness]'])}\n"
        "axes: {k: {three: k=3}}\n",
        "utf-8",
    )
    planned = rag("plan", "study.yaml", "--json").json["languages"]
    for name in ("judge (LocalJudge): ", "judge.encoder (MiniLmEmbedder): "):
        assert any(gap.startswith(name) for gap in planned)
    assert planned[0] in rag("plan", "study.yaml").out
    assert rag("plan", "study.yaml", "language=english", "--json").json["languages"] == []


def test_a_language_must_be_known(rag: Verb) -> None:
    output = rag("run", *SMALL, "language=germane", "--no-track")
    assert output.code == 2
    assert "did you mean 'german'" in " ".join(output.err.split())
    check_language("language", "other")
