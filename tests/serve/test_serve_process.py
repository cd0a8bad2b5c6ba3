"""`rag serve` as a process: what it writes, what it sends, and what it takes."""

import json
import signal
import socket
from pathlib import Path

import httpx
import pytest
from support.live_server import PATIENT
from support.serving_process import serving
from support.small_server import ALICE, BOB, QUESTION, TWO_KEYS, bearer, small_bundle
from support.span_collector import collecting

CANARY = "Canary-Wombat-4711"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("process"))


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
