"""Connections over real sockets: limits of heads, of unread answers, of memory, and of the number of connections."""

import asyncio
import re
import resource
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool
from support.servers import PATIENT, ServerProcess, address_of, in_thread, serving_process
from support.small_server import ALICE, TWO_KEYS, bearer, echo, guarded, stream_of

from rag.serve import connections
from rag.serve.connections import BoundedConnection
from rag.serve.process import allowed_connections


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Host and port of an app with small limits."""
    with pytest.MonkeyPatch.context() as patch, in_thread(guarded(echo, keys=TWO_KEYS, rate=0)) as (url, _):
        patch.setattr(connections, "HEAD", 2000)
        yield address_of(url)


def received(connection: socket.socket) -> bytes:
    """All bytes until the server closes."""
    parts = []
    # It may close while the test is still sending.
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture
def connection(address: tuple[str, int]) -> Iterator[socket.socket]:
    with closing(socket.create_connection(address, timeout=60)) as opened:
        yield opened


def send(connection: socket.socket, data: bytes) -> None:
    """Send as much as the server accepts."""
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
def test_an_endless_head_is_refused(connection: socket.socket, head: bytes) -> None:
    send(connection, head)
    answer = received(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_long_head_is_refused_before_it_ends(connection: socket.socket) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 3000)
    assert received(connection).startswith(b"HTTP/1.1 400 ")


def test_a_slow_head_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, address: tuple[str, int]) -> None:
    with closing(socket.create_connection(address, timeout=60)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        monkeypatch.setattr(BoundedConnection, "patience", 0.05)
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert received(connection) == b""
    for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: "):
        with closing(socket.create_connection(address, timeout=60)) as connection:
            connection.sendall(begun)
            assert received(connection) == b""


def test_long_bodies_do_not_count_as_long_heads(address: tuple[str, int]) -> None:
    with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", headers=bearer(ALICE), timeout=60) as client:
        for size in (10, 100_000, 1_000, 200_000, 0, 200_000):
            assert client.post("/ask", content=b"x" * size).text == f"alice {size}"


def test_a_body_that_is_too_long_gets_its_answer_and_the_connection_is_closed(connection: socket.socket) -> None:
    head = b"POST /ask HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + ALICE.encode() + b"\r\nContent-Length: 1000000\r\n\r\n"
    connection.sendall(head)
    answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


def test_a_request_for_another_protocol_is_the_last(connection: socket.socket) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert b"connection: close\r\n" in received(connection)


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
def test_invalid_requests_are_refused(connection: socket.socket, head: bytes) -> None:
    connection.sendall(head)
    connection.shutdown(socket.SHUT_WR)
    assert received(connection).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))


LONG = 8 * 2**20


async def long_text(request: Request) -> Response:
    """More bytes than a socket buffers."""
    return Response(b"x" * LONG)


async def _without_end() -> AsyncIterator[bytes]:
    while True:
        yield b"data: x\n\n" * 4096
        await asyncio.sleep(0)


@pytest.mark.parametrize("answer", [long_text, stream_of(_without_end)])
def test_a_client_that_does_not_read_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], Awaitable[Response]]
) -> None:
    dropped, lost = threading.Event(), BoundedConnection.connection_lost

    def dropping(one: BoundedConnection, exc: Exception | None) -> None:
        lost(one, exc)
        dropped.set()

    monkeypatch.setattr(BoundedConnection, "patience", 0.2)
    monkeypatch.setattr(BoundedConnection, "connection_lost", dropping)
    with in_thread(guarded(answer, rate=0, timeout=600)) as (url, _), asking(url) as connection:
        assert dropped.wait(60)
        assert len(received(connection)) < LONG


def test_a_client_that_reads_slowly_gets_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedConnection, "patience", 0.2)
    with in_thread(guarded(long_text, rate=0)) as (url, _), asking(url) as connection:
        began, parts = time.monotonic(), [connection.recv(65_536)]
        while parts[-1] and time.monotonic() < began + 1:
            time.sleep(0.02)
            parts.append(connection.recv(65_536))
        head, _, body = (b"".join(parts) + received(connection)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert len(body) == LONG


@contextmanager
def asking(url: str) -> Iterator[socket.socket]:
    """A connection that has asked, and whose system buffers little."""
    with closing(socket.socket()) as connection:
        connection.settimeout(60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.connect(address_of(url))
        connection.sendall(b"POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        yield connection


def test_a_new_connection_replaces_the_one_that_waits_longest() -> None:
    with in_thread(guarded(echo, rate=0), limit_concurrency=3) as (url, _), ExitStack() as stack:
        silent = []
        for _ in range(2):
            silent.append(stack.enter_context(closing(socket.create_connection(address_of(url), timeout=5))))
            # The clock of the event loop counts milliseconds.
            time.sleep(0.05)
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
        assert received(silent[0]) == b""
        silent[1].sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert received(silent[1]).startswith(b"HTTP/1.1 200 ")


def test_requests_that_work_are_not_replaced() -> None:
    begun, let = threading.Semaphore(0), threading.Event()

    async def slow(request: Request) -> Response:
        begun.release()
        await run_in_threadpool(let.wait, 60)
        return Response("At last.")

    with in_thread(guarded(slow, rate=0), limit_concurrency=3) as (url, _), ExitStack() as stack:
        asked = [stack.enter_context(asking(url)) for _ in range(2)]
        for _ in asked:
            assert begun.acquire(timeout=60)
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == 503
        let.set()
        assert [received(one)[-8:] for one in asked] == [b"At last."] * 2


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.2, b"event: answer\n"), (60, b'event: error\ndata: {"type":"urn:assay:service-unavailable"')]
)
def test_a_server_that_stops_completes_or_ends_its_streams(seconds: float, expected: bytes) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"event: piece\n\n"
        await asyncio.sleep(seconds)
        yield b"event: answer\n\n"

    with ExitStack() as stack:
        with in_thread(guarded(stream_of(pieces), rate=0), timeout_graceful_shutdown=1) as (url, _):
            connection = stack.enter_context(asking(url))
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        rest = received(connection)
        assert expected in rest
        assert rest.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(("descriptors", "expected"), [(256, 128), (10_000, 512), (resource.RLIM_INFINITY, 512)])
def test_connections_use_half_of_the_descriptors(monkeypatch: pytest.MonkeyPatch, descriptors: int, expected: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    assert allowed_connections(512) == expected


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
