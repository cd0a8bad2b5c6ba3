"""Streamed answers: pieces before the end, errors in the middle, clients that disconnect, servers that stop."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.servers import PATIENT, Server, address_of, events_of, running, until
from support.small_server import QUESTION, chat_request, small_bundle

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.core.errors import ServiceError
from rag.core.types import Reply, Request
from rag.serve.loaded_bundles import Served
from rag.serve.responses import with_heartbeat

WORDS = ["At ", "seven ", "[1]."]


class Halting:
    """A generator that halts before every word until `go_on` lets it continue, and remembers what it said."""

    costly = True

    def __init__(self, fails: bool = False, words: Sequence[str] = WORDS) -> None:
        self.let, self.fails, self.words = threading.Semaphore(0), fails, words
        self.said: list[str] = []
        self.left = threading.Event()

    def generate(self, requests: Any) -> list[Reply]:
        raise AssertionError("everything is streamed")

    def stream(self, request: Request) -> Iterator[str]:
        try:
            for word in self.words:
                assert self.let.acquire(timeout=PATIENT)
                if self.fails and self.said:
                    raise ServiceError("model", "went away", "start it again")
                self.said.append(word)
                yield word
            return Reply("".join(self.words), (1,), 30, 4, 0.5)
        finally:
            self.left.set()

    def go_on(self, words: int = len(WORDS)) -> None:
        """Let it say so many words."""
        self.let.release(words)


@contextmanager
def halting(bundle: Path, database: Path, generator: Halting) -> Iterator[Server]:
    """A server whose model halts."""

    def opened(path: Path) -> Bundle:
        found = open_bundle(path)
        return replace(found, pipeline=replace(found.pipeline, generator=generator))

    with running(Served([bundle], opened), database / "serve.db") as server:
        yield server


def body_of(path: str, stream: bool = True) -> dict[str, Any]:
    """The question as the body of a route."""
    return chat_request(QUESTION, stream=stream) if path.startswith("/v1") else {"question": QUESTION, "stream": stream}


@contextmanager
def streamed(server: Server) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of /ask as they come."""
    with server.client.stream("POST", "/ask", json=body_of("/ask")) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events_of(response.iter_lines())


def test_passages_come_first_then_pieces_then_the_answer(bundle: Path, tmp_path: Path) -> None:
    generator = Halting()
    with halting(bundle, tmp_path, generator) as server, streamed(server) as events:
        name, passages = next(events)
        assert (name, passages[0]["number"]) == ("passages", 1)
        for word in WORDS:
            generator.go_on(1)  # the next word is generated only after the last one was received
            assert next(events) == ("piece", {"text": word})
        name, answer = next(events)
        assert (name, answer["answer"], answer["tokens"]) == ("answer", "At seven [1].", {"prompt": 30, "completion": 4})
        assert answer["cost_usd"] == 0.5
        assert list(events) == []


def test_an_announced_answer_is_streamed_to_clients_that_get_the_answer_too(tmp_path: Path) -> None:
    study = small_bundle(tmp_path / "study", "generator=extractive", "prompt=grounded_study")
    generator = Halting(words=["Kind: question [9].\n", "Final answer: At", " seven", " [1]."])
    with halting(study, tmp_path, generator) as server:
        with streamed(server) as events:
            assert next(events)[0] == "passages"
            generator.go_on(2)  # the model has two more words to say
            assert next(events) == ("piece", {"text": "At"})
            generator.go_on(2)
            rest = list(events)
        assert [piece["text"] for name, piece in rest if name == "piece"] == [" seven", " [1]."]
        assert rest[-1][1]["answer"] == "At seven [1]."
        # Clients of OpenAI's API show the pieces as the answer, so they get it only when it is final.
        generator.go_on(4)
        lines = server.post("/v1/chat/completions", **body_of("/v1")).text.splitlines()
        chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        deltas = [choice["delta"].get("content") for chunk in chunks for choice in chunk["choices"]]
        assert list(filter(None, deltas)) == ["At seven [1]."]


def test_passages_without_room_are_removed_before_the_first_piece(tmp_path: Path) -> None:
    tight = small_bundle(tmp_path / "b", "generator=extractive", "chunker=fixed", "chunker.size=60", "context_tokens=30")
    generator = Halting()
    generator.go_on()
    with halting(tight, tmp_path, generator) as server:
        events = server.events("/ask", **body_of("/ask"))
    assert [name for name, _ in events] == ["passages", "passages", "piece", "piece", "piece", "answer"]
    found, read, answer = events[0][1], events[1][1], events[-1][1]
    assert len(read) < len(found)
    parts = [(one["number"], one["chunk"], one["text"]) for one in read]
    assert parts == [(one["number"], one["chunk"], one["text"]) for one in answer["contexts"]]


def test_a_model_that_fails_in_the_middle_ends_the_stream_with_a_problem(bundle: Path, tmp_path: Path) -> None:
    generator = Halting(fails=True)
    generator.go_on()
    with halting(bundle, tmp_path, generator) as server:
        events = server.events("/chat", **body_of("/chat"))
    assert [name for name, _ in events] == ["passages", "piece", "error"]
    problem = events[-1][1]
    assert (problem["status"], problem["detail"], problem["remedy"]) == (502, "model: went away", "start it again")


def test_generation_stops_when_the_client_disconnects(bundle: Path, tmp_path: Path) -> None:
    generator = Halting()
    with halting(bundle, tmp_path, generator) as server:
        for path in ("/ask", "/chat", "/v1/chat/completions"):
            for stream in (True, False):
                generator.said.clear()
                generator.left.clear()
                generator.let = threading.Semaphore(0)
                with connected(server.url, path, body_of(path, stream)):
                    generator.go_on(1)
                    until(lambda: generator.said)
                until(lambda: "assay_requests_working 0.0" in server.client.get("/metrics").text)
                generator.go_on()
                assert generator.left.wait(PATIENT)
                assert len(generator.said) <= 2, (path, stream)


@contextmanager
def connected(url: str, path: str, body: dict[str, Any]) -> Iterator[None]:
    """A client that has asked and disconnects when the block ends."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    with closing(socket.create_connection(address_of(url), PATIENT)) as connection:
        connection.sendall(head.encode() + data)
        yield


def test_a_silent_stream_gets_comments() -> None:
    async def slow(gate: asyncio.Event) -> AsyncIterator[bytes]:
        yield b"first"
        await gate.wait()
        yield b"last"

    async def received() -> list[bytes]:
        gate, pieces = asyncio.Event(), []
        async for piece in with_heartbeat(slow(gate), 0.001):
            pieces.append(piece)
            if piece.startswith(b":"):
                gate.set()
        return pieces

    pieces = asyncio.run(asyncio.wait_for(received(), PATIENT))
    assert (pieces[0], pieces[-1]) == (b"first", b"last")
    assert b": still here\n\n" in pieces
