"""`rag serve` as a process: what it writes, what it sends, and what it takes."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx
import pytest
from collecting import collecting
from live_server import PATIENT
from small_server import ALICE, BOB, QUESTION, TWO_KEYS, bearer, small_bundle

CANARY = "Canary-Wombat-4711"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("process"))


@contextmanager
def serving(bundle: Path, folder: Path, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]", IO[str]]]:
    """A process that serves: its address, itself, and what it wrote so far on standard error."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "OTEL_", "MLFLOW_"))}
    known |= {"RAG_API_KEYS": ",".join(f"{name}:{hash_}" for name, hash_ in TWO_KEYS.entries), "COLUMNS": "200"} | environment
    command = [sys.executable, "-c", "from rag.cli import main; main()", "serve", "--port", "0", str(bundle)]
    with (folder / "errors").open("w", encoding="utf-8") as errors, (folder / "errors").open(encoding="utf-8") as written:
        pipes = {"stdout": subprocess.PIPE, "stderr": errors, "text": True}
        with subprocess.Popen(command, cwd=folder, env=known, **pipes) as process:  # type: ignore[call-overload]
            try:
                line = next((line for line in process.stdout if line.startswith("http://")), "")
                assert line, written.read()
                yield line.split()[0], process, written
            finally:
                process.kill()


def test_a_process_writes_no_text_and_no_key_and_ends_in_order(bundle: Path, tmp_path: Path) -> None:
    with (
        collecting() as collector,
        serving(bundle, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) as (url, process, written),
        httpx.Client(base_url=url, timeout=PATIENT, headers=bearer(ALICE)) as client,
    ):
        asked = {"question": f"{QUESTION} {CANARY}"}
        for path in ("/ask", "/search", "/chat"):
            assert client.post(path, json=asked).status_code == 200
        with client.stream("POST", "/ask", json=asked | {"stream": True}) as streamed:
            assert CANARY in "".join(streamed.iter_text())
        assert client.get(f"/documents/{CANARY}").status_code == 404
        assert client.post("/ask", json=asked, headers=bearer("sk-assay-" + CANARY)).status_code == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENT) == 0
        said = written.read() + process.stdout.read()
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    routes = [line["route"] for line in lines if line["log"] == "rag.serve.requests"]
    assert sorted(routes) == ["-", "/ask", "/ask", "/chat", "/documents/{doc_id:path}", "/search"]
    sent = "\n".join(str(span) for span in collector.spans.values())
    assert "POST /chat" in sent
    for secret in (CANARY, "ferry", ALICE, BOB, *(known for _, known in TWO_KEYS.entries)):
        assert secret.lower() not in (said + sent).lower()


def test_a_process_takes_no_endless_head(bundle: Path, tmp_path: Path) -> None:
    with serving(bundle, tmp_path) as (url, _, _):
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENT) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 70_000)
            assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
