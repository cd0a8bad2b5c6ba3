"""Servers with an endless head or body, or with a compressed reply: every client gives up on them."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from rag.components.embedders import openai
from rag.components.embedders.openai import OpenAiEmbedder
from rag.components.generators.openai import OpenAiGenerator
from rag.core.errors import ServiceError
from rag.core.models import endpoint
from rag.core.types import Message, Query, Request

ASKED = Request(Query("q", "When?"), (), (Message("user", "When?"),))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Peer:
    """A server that answers each connection with what `say` writes, until its client has gone."""

    def __init__(self, listening: socket.socket, say: Callable[[socket.socket], None]) -> None:
        self.listening, self.say, self.asked = listening, say, list[bytes]()
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                with connection, suppress(OSError):
                    self.asked.append(connection.recv(65536))
                    self.say(connection)


@contextmanager
def serving(say: Callable[[socket.socket], None]) -> Iterator[Peer]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        peer = Peer(listening, say)
        thread = threading.Thread(target=peer.serve, daemon=True)
        thread.start()
        yield peer
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    assert not thread.is_alive()


def drips(start: bytes, drip: bytes) -> Callable[[socket.socket], None]:
    def say(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(drip)
            time.sleep(0.02)

    return say


def whole(url: str, **given: Any) -> object:
    return OpenAiGenerator("tiny", url, **given).generate([ASKED])


def streamed(url: str, **given: Any) -> object:
    return list(OpenAiGenerator("tiny", url, **given).stream(ASKED))


def embedded(url: str, **given: Any) -> object:
    return OpenAiEmbedder("tiny", url, **given).embed_queries(["When?"])


every = pytest.mark.parametrize("ask", [whole, streamed, embedded])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


BODY = drips(HEAD + b"Content-Length: 100000\r\n\r\n", b" ")


@pytest.mark.parametrize(
    ("ask", "say"),
    [
        (whole, drips(b"HTTP/1.1 200 ", b"O")),
        (whole, drips(b"HTTP/1.1 200 OK\r\n", b"X-More: yes\r\n")),
        *((ask, BODY) for ask in (whole, streamed, embedded)),
        (streamed, drips(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")),
    ],
)
def test_a_slow_stream_of_bytes_is_given_up(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[..., object], say: Callable[[socket.socket], None]
) -> None:
    assert endpoint.LASTING == 10
    monkeypatch.setattr(endpoint, "LASTING", 0.05)  # 0.25 s in all, where a silence of 5 s is allowed
    with serving(say) as peer:
        with pytest.raises(ServiceError, match=r"was still sending its reply after 0\.25 s"):
            ask(peer.url, timeout=5.0, retries=3)
        assert len(peer.asked) == 1


@every
def test_a_compressed_reply_is_not_unpacked(ask: Callable[..., object]) -> None:
    bomb = gzip.compress(bytes(5_000_000))
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    said = pytest.raises(ServiceError, match=r"sent a compressed reply \(gzip\), which was not requested")
    with serving(lambda connection: connection.sendall(head + bomb)) as peer, said:
        ask(peer.url, timeout=5.0, retries=3)
    assert len(peer.asked) == 1
    assert b"accept-encoding: identity\r\n" in peer.asked[0].lower()
    assert b"gzip" not in peer.asked[0]


def test_a_reply_to_an_embedder_has_room_for_its_vectors_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "LONGEST_VECTOR", 1000)

    def endless(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n")
        while True:
            connection.sendall(b"[" * 1000)

    with serving(endless) as peer, pytest.raises(ServiceError, match="sent more than 7,000 bytes and did not end"):
        embedded(peer.url, batch_size=7)


def test_a_deeply_nested_reply_to_an_embedder_is_an_error() -> None:
    body = HEAD + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000
    with serving(lambda connection: connection.sendall(body)) as peer, pytest.raises(ServiceError, match="RecursionError"):
        embedded(peer.url)
