"""`mlflow models serve`, as its own process: what it answers over HTTP is what the bundle answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.ports import free_port

from rag.core.records import Query
from rag.pipeline.passage_fates import traced_answer
from rag.tracking.registry.promote import promote
from rag.tracking.registry.register import register

QUESTIONS = ["What does the amber lantern cost?", "How does one mend the copper kettle?", "Who paints the lighthouse?"]
PATIENCE = 180.0
"""Seconds that a process has to start on a busy machine."""


@contextmanager
def running(*arguments: str, folder: Path, ping: str, tracking: str = "") -> Iterator[str]:
    """The address of a process of MLflow's in a folder of its own; what it says stands in `log` there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    told = {"MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment = kept | told | ({"MLFLOW_TRACKING_URI": tracking} if tracking else {})
    # MLflow starts uvicorn by its name.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    port, log = free_port(), folder / "log"
    command = [sys.executable, "-m", "mlflow", *arguments, "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=file, stderr=file, start_new_session=True)
    try:
        _wait(f"http://127.0.0.1:{port}/{ping}", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def served(answering: Any, tmp_path: Path) -> Iterator[str]:
    """The address of a process that serves the model of `answering`."""
    arguments = ("models", "serve", "-m", answering.registered.uri, "--env-manager", "local")
    with running(*arguments, folder=tmp_path, ping="ping", tracking=answering.client.tracking_uri) as url:
        yield url


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(log.read_text("utf-8"))


def test_a_served_model_answers_as_its_bundle(answering: Any, served: str, tmp_path: Path) -> None:
    pipeline = answering.bundle.pipeline
    for question in QUESTIONS:
        reply = httpx.post(f"{served}/invocations", json={"input": [{"role": "user", "content": question}]}, timeout=PATIENCE)
        assert reply.status_code == 200, reply.text
        query = Query("ask", question)
        trace = pipeline.trace(query)
        expected = traced_answer(pipeline, trace, pipeline.answer_from(query, trace))
        found = reply.json()["custom_outputs"]
        assert found == json.loads(json.dumps({"bundle": answering.bundle.digest, **expected}))
        assert reply.json()["output"][0]["content"][0]["text"] == expected["answer"]
    refused = httpx.post(f"{served}/invocations", json={"input": []}, timeout=PATIENCE)
    assert refused.status_code == 400
    assert "does not end with a message of a user" in refused.text
    log = (tmp_path / "log").read_text("utf-8")
    assert not [question for question in QUESTIONS if question in log]
    assert {path.name for path in tmp_path.iterdir()} <= {"log", "mlflow.db"}, "no trace is kept beside it"


def test_a_registry_behind_http(at_home: Any, blank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where MLflow is a server that keeps artifacts too: register, promote, load."""
    (tmp_path / "server").mkdir()
    shutil.copy(blank, tmp_path / "server.db")
    stores = ("--backend-store-uri", f"sqlite:///{tmp_path}/server.db", "--artifacts-destination", str(tmp_path / "kept"))
    with running("server", *stores, "--workers", "1", folder=tmp_path / "server", ping="health") as url:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
        narrow, wide = (register(at_home(f"notes-{name}"), "notes") for name in ("narrow", "wide"))
        assert promote("notes", narrow.version).promoted
        found = promote("notes")
        assert (found.promoted, found.verdict, found.challenger.number) == (True, "PASS", wide.version)
        assert not promote("notes", narrow.version).promoted
        import mlflow

        mlflow.set_tracking_uri(url)
        try:
            model = mlflow.pyfunc.load_model("models:/notes@champion")
            (passages,) = model.predict([QUESTIONS[0]])
        finally:
            mlflow.set_tracking_uri(None)
    assert passages.bundle == wide.digest
    assert (tmp_path / "kept").is_dir()
