"""`mlflow models serve`, as its own process: what it answers over HTTP is what the bundle answers."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag.answering import told
from rag.records import Query

QUESTIONS = ["What does the amber lantern cost?", "How does one mend the copper kettle?", "Who paints the lighthouse?"]
PATIENCE = 60.0
"""Seconds that a process has to start on a busy machine."""


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def served(answering: Any, tmp_path: Path) -> Iterator[str]:
    """The address of a process that serves the model of `answering`."""
    environment = {
        **os.environ,
        "MLFLOW_TRACKING_URI": answering.client.tracking_uri,
        "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",
    }
    # MLflow starts uvicorn by its name.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    port = _free()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", answering.registered.uri, "--env-manager", "local"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(port)],
            env=environment, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        _wait(f"http://127.0.0.1:{port}/ping", process, tmp_path / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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
        expected = told(pipeline, trace, pipeline.answer_from(query, trace))
        found = reply.json()["custom_outputs"]
        assert found == json.loads(json.dumps({"bundle": answering.bundle.digest, **expected}))
        assert reply.json()["output"][0]["content"][0]["text"] == expected["answer"]
    refused = httpx.post(f"{served}/invocations", json={"input": []}, timeout=PATIENCE)
    assert refused.status_code == 400
    assert "does not end with a message of a user" in refused.text
    log = (tmp_path / "log").read_text("utf-8")
    assert not [question for question in QUESTIONS if question in log]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"], "no trace is kept beside it"
