"""A sweep whose passages a model situates: planned, paid once, replayed, and in a bundle that asks no model."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.costly_sweep import ask_of
from support.scripted_server import Script, answer, serving
from support.swept_trial import sweep, trials

from rag.bundle.open_bundle import open_bundle
from rag.bundle.replay import replay
from rag.bundle.seal import export
from rag.core.types import Query
from rag.pipeline.shapes.answer_json import found_passages

WHERE = "This is from the timetable of the island of Holm."


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(answer(lambda question: WHERE, {"prompt_tokens": 90, "completion_tokens": 10})) as server:
        ask_of(server, monkeypatch)
        yield server


def test_a_bundle_holds_the_texts_and_asks_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    fixed = ("dataset.path=golden", "latency=0", "generator=extractive", "embedder=hashing", "chunker=sentence")
    folder = sweep(tmp_path, "  passage: [passage=contextual]", fixed=fixed)
    monkeypatch.chdir(folder)
    (row,) = trials(folder)
    asked = len(script.asked)
    script.shutdown()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.test/v1")
    bundle = open_bundle(export(f"trial={row['trial']}", tmp_path / "b").path)
    assert all(text.startswith(WHERE) for text in bundle.pipeline.corpus.index_texts)
    assert not any(WHERE in text for text in bundle.pipeline.corpus.texts)
    assert replay(bundle).mismatches == []
    found = found_passages(bundle.pipeline.corpus, bundle.pipeline.trace(Query("q", "When is the ferry?")), 1)
    assert str(found[0]["indexed"]).startswith(WHERE)
    assert len(script.asked) == asked > 0
