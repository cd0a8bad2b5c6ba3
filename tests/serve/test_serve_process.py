"""`rag serve` as a process with keys: what it writes and sends, and what a client without a key can take from it."""

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from support.servers import PATIENT, ServerProcess, address_of, serving_process
from support.small_server import ALICE, BOB, CANARY, QUESTION, TWO_KEYS, bearer
from support.span_collector import Collector, collecting

BEGUN = b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
"""A request whose body has not ended."""

MIB = 2**20


@dataclass(frozen=True)
class Attacked:
    """A server process and its resources."""

    server: ServerProcess
    collector: Collector

    @property
    def proc(self) -> Path:
        """Its folder in /proc."""
        return Path(f"/proc/{self.server.process.pid}")

    def connect(self) -> socket.socket:
        """A connection that waits long."""
        return socket.create_connection(address_of(self.server.url), timeout=PATIENT)

    def peak(self) -> int:
        """The peak of its memory in bytes."""
        return int(re.findall(r"VmHWM:\s+(\d+) kB", (self.proc / "status").read_text("ascii"))[0]) * 1024

    def seconds(self) -> float:
        """The processor time that it has used."""
        times = (self.proc / "stat").read_text("ascii").rpartition(") ")[2].split()
        return sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK")

    def is_healthy(self) -> bool:
        """Whether it answers another client."""
        return httpx.get(f"{self.server.url}/healthz", timeout=PATIENT).status_code == 200


@pytest.fixture(scope="module")
def attacked(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A process that may open 256 file descriptors, and waits half a second for a request."""
    folder = tmp_path_factory.mktemp("attacked")
    with collecting() as collector:
        settings = {"RAG_PATIENCE": "0.5", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        with serving_process(bundle, folder, descriptors=256, **settings) as server:
            yield Attacked(server, collector)


def flood(connection: socket.socket, piece: bytes, most: int) -> None:
    """Send a piece again and again until the server closes, or `most` bytes were sent."""
    with suppress(ConnectionError):
        for _ in range(most // len(piece)):
            connection.sendall(piece)


def rest(connection: socket.socket) -> bytes:
    """All bytes until the server closes."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def test_trailers_take_no_memory(attacked: Attacked) -> None:
    before = attacked.peak()
    for head in (BEGUN, BEGUN.replace(b"POST /ask", b"GET /healthz")):
        with attacked.connect() as connection:
            connection.sendall(head + b"0\r\n")
            flood(connection, (b"x:" + b"a" * 10 + b"\r\n") * 4000, 64 * MIB)
            answer = rest(connection)
            assert answer == b"" or b"connection: close\r\n" in answer
    assert attacked.peak() - before < 16 * MIB


def test_an_endless_trailer_delays_no_other_client(attacked: Attacked) -> None:
    before = attacked.seconds()
    with attacked.connect() as connection:
        connection.sendall(BEGUN + b"0\r\nx: ")
        flood(connection, b"a" * 65_536, 64 * MIB)
        assert attacked.is_healthy()
    assert attacked.seconds() - before < 1.5


def test_pipelined_requests_take_no_memory(attacked: Attacked) -> None:
    before = attacked.peak()
    with attacked.connect() as connection:
        connection.setblocking(False)
        ahead, until = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 4000, time.monotonic() + 2
        with suppress(ConnectionError):
            while time.monotonic() < until:
                with suppress(BlockingIOError):
                    connection.send(ahead)
                with suppress(BlockingIOError):
                    if not connection.recv(MIB):
                        break
    assert attacked.peak() - before < 16 * MIB


@pytest.mark.parametrize("sent", [b"", b"GET / HT", BEGUN, BEGUN + b"0\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nG"])
def test_silent_connections_are_closed_and_block_no_other(attacked: Attacked, sent: bytes) -> None:
    with ExitStack() as stack:
        silent = []
        for _ in range(300):
            connection = stack.enter_context(attacked.connect())
            with suppress(ConnectionError):
                connection.sendall(sent)
            silent.append(connection)
        assert attacked.is_healthy()
        assert len(os.listdir(attacked.proc / "fd")) < 200
        for connection in silent:
            rest(connection)
    assert attacked.is_healthy()


def test_bytes_after_an_answer_extend_nothing(attacked: Attacked) -> None:
    with attacked.connect() as connection:
        connection.sendall(BEGUN)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401 ")
        with suppress(ConnectionError):
            connection.sendall(b"2\r\n{}\r\n")
        rest(connection)


def test_a_request_for_another_protocol_is_the_last(attacked: Attacked) -> None:
    with attacked.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
        assert b"connection: close\r\n" in rest(connection)


def test_a_process_writes_no_text_and_no_key_until_it_ends(attacked: Attacked) -> None:
    server, collector = attacked.server, attacked.collector
    server.log_lines()  # those of the tests before this one, which is the last: it ends the process
    with httpx.Client(base_url=server.url, timeout=PATIENT, headers=bearer(ALICE)) as client:
        asked = {"question": f"{QUESTION} {CANARY}"}
        for path in ("/ask", "/search", "/chat"):
            assert client.post(path, json=asked).status_code == 200
        with client.stream("POST", "/ask", json=asked | {"stream": True}) as streamed:
            assert CANARY in "".join(streamed.iter_text())
        assert client.get(f"/documents/{CANARY}").status_code == 404
        assert client.post("/ask", json=asked, headers=bearer("sk-assay-" + CANARY)).status_code == 401
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENT) == 0
    lines, printed = server.log_lines(), server.process.stdout.read()  # type: ignore[union-attr]
    routes = [line["route"] for line in lines if line["log"] == "rag.serve.requests"]
    assert sorted(routes) == ["-", "/ask", "/ask", "/chat", "/documents/{doc_id:path}", "/search"]
    sent = "\n".join(str(span) for span in collector.spans.values())
    assert "POST /chat" in sent
    server.errors.seek(0)
    everything = (server.errors.read() + printed + sent).lower()
    for secret in (CANARY, "ferry", ALICE, BOB, *(known for _, known in TWO_KEYS.entries)):
        assert secret.lower() not in everything
