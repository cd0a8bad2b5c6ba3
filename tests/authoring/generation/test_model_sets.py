"""Whole sets by a model: written, repeated, replayed, stopped by a budget, killed and continued."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.costly_sweep import ask_of
from support.question_model import TEXTS, obliging, write_documents
from support.scripted_server import prose, serving, slow

from rag.api import generation
from rag.core.errors import BudgetError, ReplayError, ServiceError

KINDS = ("table", "multi_hop", "aggregation", "unanswerable")
RUN = """
import sys
from pathlib import Path
from rag.api import generation
generation.discrimination = lambda *given: {}
generation.sentence_vectors = lambda *given: None
generation.generate_set(sys.argv[1:], Path("set"), 12, ["table", "factoid", "multi_hop"], model=True, model_filters=[])
"""


@pytest.fixture(autouse=True)
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe needs a model of sentences, and other tests run it."""
    monkeypatch.setattr(generation, "discrimination", lambda *given: {})
    monkeypatch.setattr(generation, "sentence_vectors", lambda *given: None)


def made(folder: Path, name: str, *overrides: str, filters: tuple[str, ...] | None = ()) -> str:
    """The file of a set made by the model."""
    what = [f"{folder / 'documents'}", "generator=openai", f"store={folder / 'store'}", *overrides]
    generation.generate_set(what, folder / name, 12, KINDS, model=True, model_filters=filters)
    return (folder / name / "questions.jsonl").read_text("utf-8")


def test_a_set_is_written_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_documents(tmp_path / "documents")
    with serving(obliging) as script:
        ask_of(script, monkeypatch)
        monkeypatch.setenv("OPENAI_MODEL", "tiny-model")
        first = made(tmp_path, "first")
        asked = len(script.asked)
        assert made(tmp_path, "second", "replay=only") == first
        assert len(script.asked) == asked > 0
    rows = [json.loads(line) for line in first.splitlines()]
    by_model = [row for row in rows if row["provenance"]["method"].startswith("model:")]
    assert {row["kind"] for row in by_model} >= {"table", "multi_hop", "aggregation"}
    assert all(row["provenance"]["author"] == "tiny-model" for row in by_model)
    for row in rows:
        for place in (place for group in row["evidence"] for place in group["any"]):
            assert place["quote"] in TEXTS[place["doc"]]
    with pytest.raises(ReplayError):
        made(tmp_path, "third", "replay=only", filters=None)


@pytest.mark.parametrize("why", ["rubbish", "budget"])
def test_nothing_is_written_where_the_run_ends_early(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_documents(tmp_path / "documents")
    with serving(prose() if why == "rubbish" else obliging) as script:
        ask_of(script, monkeypatch)
        with pytest.raises(ServiceError if why == "rubbish" else BudgetError):
            made(tmp_path, "set", *(["budget.tokens=1100"] if why == "budget" else []))
        assert not (tmp_path / "set").exists()
        assert 0 < len(script.asked) < 30
        if why == "budget":
            assert made(tmp_path, "set")
            bodies = [json.dumps(body, sort_keys=True) for body in script.asked]
            assert len(bodies) == len(set(bodies))


@pytest.mark.system
def test_a_killed_run_continues_and_pays_for_no_reply_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_documents(tmp_path / "documents")
    with serving(slow(0.15, obliging)) as script:
        ask_of(script, monkeypatch)
        overrides = ["generator=openai", "generator.runtime.concurrency=1", f"store={tmp_path / 'store'}"]
        command = [sys.executable, "-c", RUN, str(tmp_path / "documents"), *overrides]
        process = subprocess.Popen(command, cwd=tmp_path)
        while len(script.asked) < 4:
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed = len(script.asked)
        assert not (tmp_path / "set" / "questions.jsonl").exists()
        subprocess.run(command, cwd=tmp_path, check=True)
        bodies = [json.dumps(body, sort_keys=True) for body in script.asked]
    assert len(bodies) > killed
    assert len(bodies) - len(set(bodies)) <= 1  # the request that was under way
    assert (tmp_path / "set" / "questions.jsonl").read_text("utf-8")
