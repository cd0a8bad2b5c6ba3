"""Locks as on network drives: refused, never given, or given to all at once. Each is told in a line, nothing is spent twice."""

import errno
import fcntl
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support.corpora import text_folder

from rag.authoring.review.question_file import QuestionFile
from rag.components.embedders.static import StaticEmbedder
from rag.components.loaders.native_questions import NativeQuestions
from rag.core import files
from rag.core.assessments import Spent
from rag.core.errors import BudgetError, ConfigError, DataError, ServiceError, StoreError
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Store
from rag.tracking import mlflow_client

REFUSED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def answer(monkeypatch: pytest.MonkeyPatch, number: int, times: int = sys.maxsize) -> list[int]:
    """Let the system refuse so many locks with an error."""
    flock, asked = fcntl.flock, list[int]()

    def refused(file: int, operation: int) -> None:
        asked.append(operation)
        if len(asked) <= times:
            raise OSError(number, os.strerror(number))
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", refused)
    return asked


@pytest.mark.parametrize("number", REFUSED)
def test_a_claim_on_a_drive_without_locks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    answer(monkeypatch, number)
    with pytest.raises(StoreError, match="this drive has no file locks"), Store(str(tmp_path)).claim("stages/ab"):
        pass


def test_models_runs_and_questions_on_a_drive_without_locks(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, errno.ENOLCK)
    with pytest.raises(ConfigError, match=r"embedder\.runtime\.cache: .* cannot be written or locked"):
        StaticEmbedder(cache=str(tmp_path / "models")).embed_queries(["a"])
    with pytest.raises(ServiceError, match=r"MLflow cannot be used: .*\n.*the results are safe"):
        mlflow_client.reap(f"sqlite:///{tmp_path}/mlflow.db", "study")
    with pytest.raises(ServiceError, match="MLflow cannot be used"):
        mlflow_client.prepare(None, tmp_path)
    assert not list((tmp_path / "models").glob("*[!k]"))
    before = (golden / "questions.jsonl").read_bytes()
    questions = QuestionFile(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))
    with pytest.raises(DataError, match="cannot be written \\(No locks available\\)"):
        questions.write(questions.fixes())
    assert (golden / "questions.jsonl").read_bytes() == before


def test_a_lock_that_seems_held_is_waited_for_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Some drives answer EACCES, as if another process held every lock."""
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    asked = answer(monkeypatch, errno.EACCES, times=4)
    with caplog.at_level(logging.WARNING), Store(str(tmp_path)).claim("stages/ab"):
        assert len(asked) == 5
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "waiting for a lock: another process holds it, or this drive has no locks"
    ]


# Locks that every process gets at once


def test_two_who_write_at_once_both_look_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both look before either has written: without a second look both would enter what fits one."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    store, meeting = Store(str(tmp_path)), threading.Barrier(2)
    result: list[str] = []

    def enter() -> None:
        ledger = Ledger(store, Terms(tokens=100))
        ledger.space = "ledger/shared"
        fitting: Callable[..., int] = ledger._fitting

        def together(expected: list[Spent]) -> int:
            count = fitting(expected)
            meeting.wait(10)
            return count

        ledger._fitting = together  # type: ignore[method-assign]
        try:
            with ledger.entered([Spent(60)]) as (_, settle):
                settle(Spent(60))
            result.append("entered")
        except BudgetError as error:
            result.append(error.what)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(result) == 2
    assert result.count("entered") <= 1
    left = [meta for key in store.keys("ledger/shared") if (meta := store.read_meta(key))]
    assert sum(meta["tokens"] for meta in left) <= 100
