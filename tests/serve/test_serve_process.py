"""`rag serve` as a process with keys: what a client without a key can take from it."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.servers import PATIENT, ServerProcess, address_of, serving_process

BEGUN = b"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
"""A request whose trailers have not ended."""

MIB = 2**20


@pytest.fixture(scope="module")
def attacked(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A process that waits half a second for a request."""
    with serving_process(bundle, tmp_path_factory.mktemp("attacked"), RAG_PATIENCE="0.5") as server:
        yield server


@contextmanager
def connected(server: ServerProcess) -> Iterator[socket.socket]:
    """A connection during which the peak of the memory of a process grows by less than 16 MiB."""
    before = peak(server)
    with socket.create_connection(address_of(server.url), timeout=PATIENT) as connection, suppress(ConnectionError):
        yield connection
    assert peak(server) - before < 16 * MIB


def peak(server: ServerProcess) -> int:
    """The peak of the memory of a process in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


@pytest.mark.parametrize("head", [BEGUN, BEGUN.replace(b"POST /ask", b"GET /healthz")])
def test_trailers_take_no_memory(attacked: ServerProcess, head: bytes) -> None:
    with connected(attacked) as connection:
        connection.sendall(head)
        for _ in range(1_000):
            connection.sendall((b"x:" + b"a" * 10 + b"\r\n") * 4000)


def test_pipelined_requests_take_no_memory(attacked: ServerProcess) -> None:
    ahead, until = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 4000, time.monotonic() + 2
    with connected(attacked) as connection:
        connection.setblocking(False)
        while time.monotonic() < until:
            with suppress(BlockingIOError):
                connection.send(ahead)
            with suppress(BlockingIOError):
                if not connection.recv(MIB):
                    break
