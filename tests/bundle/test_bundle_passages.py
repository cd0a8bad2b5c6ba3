"""A sweep whose passages a model situates: planned, paid once, replayed, and in a bundle that asks no model."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.costly_sweep import ask_of, planned, swept
from support.scripted_server import Script, answer, empty, serving
from support.small_set import write_golden
from support.swept_trial import sweep, trials

from rag.bundle.open_bundle import open_bundle
from rag.bundle.replay import replay
from rag.bundle.seal import export
from rag.core.types import Query
from rag.execution.store.store import Store
from rag.pipeline.shapes.answer_json import found_passages

WHERE = "This is from the timetable of the island of Holm."
STUDY = """\
question: Does it help?
dataset: native
split: all
holdout: 0
controls: false
fixed: ["dataset.path={golden}", "index=[bm25s]", fusion=single, generator=none, latency=0, chunker=sentence,
        passage=contextual]
objective: recall@5
axes: {{k: "k=2"}}
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(answer(lambda question: WHERE, {"prompt_tokens": 90, "completion_tokens": 10})) as server:
        ask_of(server, monkeypatch)
        yield server


@pytest.fixture
def study(here: Path) -> Path:
    path = here / "study.yaml"
    path.write_text(STUDY.format(golden=write_golden(here / "golden")), "utf-8")
    return path


def test_passages_are_planned_paid_once_and_replayed(here: Path, study: Path, script: Script) -> None:
    store = Store(str(here / "store"))
    before = planned(study, store).estimate.spending
    assert 0 < before.likely.tokens < before.most.tokens
    done = swept(planned(study, store), store)
    chunks = len(script.asked)
    assert done.spent.tokens == 100 * chunks
    (row,) = done.board.rows
    assert (row.measured["passage_tokens"], row.measured["passage_failures"]) == (100.0 * chunks, 0.0)
    assert "tokens" not in row.measured, "an answer costs nothing"
    for key in store.keys("stages"):
        store.remove(key)
    again = swept(planned(study, store, "replay=only"), store)
    assert (len(script.asked), again.board.rows[0].metrics) == (chunks, row.metrics)
    failed = swept(planned(study, store, "replay=only", "passage.longest=20", "passage.document_chars=99"), store)
    assert "allows stored replies only" in failed.board.rows[0].error


def test_the_forecast_counts_stored_chunks(here: Path, study: Path, script: Script) -> None:
    store = Store(str(here / "store"))
    swept(planned(study, store, "passage=plain"), store)
    likely = planned(study, store).estimate.spending.likely.tokens
    swept(planned(study, store), store)
    assert 200 * len(script.asked) < likely < 700 * len(script.asked)


def test_chunks_without_a_reply_are_counted(here: Path, study: Path, script: Script) -> None:
    store = Store(str(here / "store"))
    script.steps = [empty(), answer(lambda question: WHERE)]
    done = swept(planned(study, store, "passage.generator.runtime.concurrency=1"), store)
    assert done.board.rows[0].measured["passage_failures"] == 1


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
