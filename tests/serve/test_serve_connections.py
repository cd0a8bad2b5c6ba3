"""Connections: heads of bounded size that come in bounded time, over real sockets."""

import socket
from collections.abc import Iterator
from contextlib import closing, suppress

import httpx
import pytest
from small_server import ALICE, TWO_KEYS, bearer, echo, guarded, listening

from rag.serve import connections


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """Where an app with small limits listens."""
    monkeypatch.setattr(connections, "HEAD", 2000)
    with listening(guarded(echo, keys=TWO_KEYS, rate=0)) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        yield host, int(port)


def said(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    parts = []
    # It may close while we are still sending.
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture
def connection(address: tuple[str, int]) -> Iterator[socket.socket]:
    with closing(socket.create_connection(address, timeout=60)) as opened:
        yield opened


def send(connection: socket.socket, data: bytes) -> None:
    """Send as much as is taken."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200_000,
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 1_000_000,
        b"GET /" + b"y" * 1_000_000,
    ],
)
def test_a_head_without_end_is_refused(connection: socket.socket, head: bytes) -> None:
    send(connection, head)
    answer = said(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_head_that_comes_slowly_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch, address: tuple[str, int]) -> None:
    monkeypatch.setattr(connections.BoundedConnection, "patience", 0.05)
    for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: "):
        with closing(socket.create_connection(address, timeout=60)) as connection:
            connection.sendall(begun)
            assert said(connection) == b""


def test_a_connection_that_is_kept_waits_for_its_second_head_no_longer(
    monkeypatch: pytest.MonkeyPatch, address: tuple[str, int]
) -> None:
    with closing(socket.create_connection(address, timeout=60)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        monkeypatch.setattr(connections.BoundedConnection, "patience", 0.05)
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert said(connection) == b""


def test_long_bodies_are_no_long_heads(address: tuple[str, int]) -> None:
    with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", headers=bearer(ALICE), timeout=60) as client:
        for size in (10, 100_000, 1_000, 200_000, 0, 200_000):
            assert client.post("/ask", content=b"x" * size).text == f"alice {size}"


def test_a_body_that_is_too_long_is_answered_and_the_connection_closed(connection: socket.socket) -> None:
    head = b"POST /ask HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + ALICE.encode() + b"\r\nContent-Length: 1000000\r\n\r\n"
    connection.sendall(head)
    answer = said(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


@pytest.mark.parametrize(
    "head",
    [
        b"\x00\xff\x00\xff\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: [\r\n\r\n",
        "GET /ä HTTP/1.1\r\nHost: a\r\n\r\n".encode(),
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /ask HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_request_is_refused(connection: socket.socket, head: bytes) -> None:
    connection.sendall(head)
    connection.shutdown(socket.SHUT_WR)
    assert said(connection).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))
