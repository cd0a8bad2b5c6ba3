"""What one client without a key can take from a server process: memory, time, connections."""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from support.live_server import PATIENT
from support.serving_process import serving
from support.small_server import small_bundle

BEGUN = b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
"""A request whose body has not ended."""

MIB = 2**20


@dataclass(frozen=True)
class Attacked:
    """A server process with keys."""

    url: str
    process: int

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def connect(self) -> socket.socket:
        """A connection that waits long."""
        return socket.create_connection(self.place, timeout=PATIENT)

    def peak(self) -> int:
        """The most memory that it ever had, in bytes."""
        status = Path(f"/proc/{self.process}/status").read_text("ascii")
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024

    def seconds(self) -> float:
        """Processor time that it has used."""
        times = Path(f"/proc/{self.process}/stat").read_text("ascii").rpartition(") ")[2].split()
        return sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self) -> int:
        """How many it has."""
        return len(os.listdir(f"/proc/{self.process}/fd"))

    def is_healthy(self) -> bool:
        """Whether another client is answered."""
        return httpx.get(f"{self.url}/healthz", timeout=PATIENT).status_code == 200


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """It may have 256 descriptors, and waits half a second for a request."""
    folder = tmp_path_factory.mktemp("attacked")
    with serving(small_bundle(folder), folder, descriptors=256, RAG_PATIENCE="0.5") as (url, process, _):
        yield Attacked(url, process.pid)


def flood(connection: socket.socket, piece: bytes, most: int) -> None:
    """Send a piece again and again until it is not taken, or `most` bytes were sent."""
    with suppress(ConnectionError):
        for _ in range(most // len(piece)):
            connection.sendall(piece)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
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


def test_trailers_before_an_answer_are_refused(attacked: Attacked) -> None:
    with attacked.connect() as connection:
        connection.sendall(BEGUN + b"0\r\n" + b"x:y\r\n" * 20_000)
        answer = rest(connection)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))


def test_one_endless_trailer_keeps_no_other_waiting(attacked: Attacked) -> None:
    before = attacked.seconds()
    with attacked.connect() as connection:
        connection.sendall(BEGUN + b"0\r\nx: ")
        flood(connection, b"a" * 65_536, 64 * MIB)
        assert attacked.is_healthy()
    assert attacked.seconds() - before < 1.5


def test_requests_sent_ahead_take_no_memory(attacked: Attacked) -> None:
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
def test_silent_connections_keep_no_other_out_and_are_closed(attacked: Attacked, sent: bytes) -> None:
    with ExitStack() as stack:
        silent = []
        for _ in range(300):
            connection = stack.enter_context(attacked.connect())
            with suppress(ConnectionError):
                connection.sendall(sent)
            silent.append(connection)
        assert attacked.is_healthy()
        assert attacked.descriptors() < 200
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


def test_who_sends_a_long_body_without_a_key_is_told(attacked: Attacked) -> None:
    for _ in range(5):
        refused = httpx.post(f"{attacked.url}/ask", content=b"x" * 8 * MIB, timeout=PATIENT)
        assert refused.status_code == 401
