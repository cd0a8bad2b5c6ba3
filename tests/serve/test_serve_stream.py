"""Answers as they come: pieces before the end, errors in the middle, listeners who leave, servers that stop."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.live_server import PATIENT, Live, events, live
from support.small_server import QUESTION, small_bundle

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.core.errors import ServiceError
from rag.core.records import Reply, Request
from rag.serve import response_models
from rag.serve.loaded_bundles import Served
from rag.serve.responses import with_heartbeat

WORDS = ["At ", "seven ", "[1]."]


class Halting:
    """Says a word whenever it is let, and remembers how far it came."""

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


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("stream"), "generator=extractive")


@contextmanager
def halting(bundle: Path, database: Path, generator: Halting) -> Iterator[Live]:
    """A server whose model halts after every word."""

    def opened(path: Path) -> Bundle:
        found = open_bundle(path)
        return replace(found, pipeline=replace(found.pipeline, generator=generator))

    with live(Served([bundle], opened), database) as server:
        yield server


def asked(path: str) -> dict[str, Any]:
    """A body that streams."""
    if path.startswith("/v1"):
        return {"model": "default", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    return {"question": QUESTION, "stream": True}


def test_passages_come_first_then_pieces_then_the_answer(bundle: Path, tmp_path: Path) -> None:
    generator = Halting()
    with (
        halting(bundle, tmp_path / "serve.db", generator) as server,
        server.client.stream("POST", "/ask", json=asked("/ask")) as response,
    ):
        found = events(response.iter_lines())
        assert response.headers["content-type"].startswith("text/event-stream")
        name, passages = next(found)
        assert (name, passages[0]["number"]) == ("passages", 1)
        for word in WORDS:
            generator.go_on(1)  # no word is said before the last one has been heard
            assert next(found) == ("piece", {"text": word})
        name, answer = next(found)
        response_models.Answer.model_validate(answer, strict=True)
        assert (name, answer["answer"], answer["tokens"]) == ("answer", "At seven [1].", {"prompt": 30, "completion": 4})
        assert answer["cost_usd"] == 0.5
        assert list(found) == []


def test_an_announced_answer_is_streamed_to_who_gets_the_answer_too(tmp_path: Path) -> None:
    study = small_bundle(tmp_path / "study", "generator=extractive", "prompt=grounded_study")
    words = ["Kind: question [9].\n", "Final answer: At", " seven", " [1]."]
    generator = Halting(words=words)
    with halting(study, tmp_path / "serve.db", generator) as server:
        with server.client.stream("POST", "/ask", json=asked("/ask")) as response:
            found = events(response.iter_lines())
            assert next(found)[0] == "passages"
            generator.go_on(2)  # the model has two more words to say
            assert next(found) == ("piece", {"text": "At"})
            generator.go_on(2)
            rest = list(found)
        assert [told["text"] for name, told in rest if name == "piece"] == [" seven", " [1]."]
        assert rest[-1][1]["answer"] == "At seven [1]."
        # Clients of OpenAI's interface take the pieces for the answer: they get it when no other can follow.
        generator.go_on(4)
        lines = server.post("/v1/chat/completions", **asked("/v1")).text.splitlines()
        told = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        deltas = [choice["delta"].get("content") for one in told for choice in one["choices"]]
        assert list(filter(None, deltas)) == ["At seven [1]."]


def test_passages_that_had_no_room_are_taken_back_before_the_first_piece(tmp_path: Path) -> None:
    tight = small_bundle(tmp_path / "b", "generator=extractive", "chunker=fixed", "chunker.size=60", "context_tokens=30")
    generator = Halting()
    generator.go_on()
    with halting(tight, tmp_path / "serve.db", generator) as server:
        found = list(events(iter(server.post("/ask", **asked("/ask")).text.splitlines())))
        assert [name for name, _ in found] == ["passages", "passages", "piece", "piece", "piece", "answer"]
        known, read, answer = found[0][1], found[1][1], found[-1][1]
        assert len(read) < len(known)
        told = [(one["number"], one["chunk"], one["text"]) for one in read]
        assert told == [(one["number"], one["chunk"], one["text"]) for one in answer["contexts"]]


def test_half_a_character_is_sent_as_it_came(bundle: Path, tmp_path: Path) -> None:
    class Halves(Halting):
        def stream(self, request: Request) -> Iterator[str]:
            yield from ("Ahoy ", "\ud83d", "\ude00")

    with halting(bundle, tmp_path / "serve.db", Halves()) as server:
        found = list(events(iter(server.post("/ask", **asked("/ask")).text.splitlines())))
        assert [told["text"] for name, told in found if name == "piece"] == ["Ahoy ", "\ud83d", "\ude00"]
        assert (found[-1][0], found[-1][1]["answer"].encode("utf-16", "surrogatepass").decode("utf-16")) == (
            "answer",
            "Ahoy 😀",
        )
        assert server.post("/v1/chat/completions", **asked("/v1")).text.count("\\ud83d") == 1
        assert server.told("/ask", question=QUESTION)["answer"]


def test_an_answer_without_a_stream_has_the_same_tokens(bundle: Path, tmp_path: Path) -> None:
    generator = Halting()
    generator.go_on()
    with halting(bundle, tmp_path / "serve.db", generator) as server:
        told = server.told("/ask", question=QUESTION)
        assert (told["answer"], told["tokens"]["completion"], told["cost_usd"]) == ("At seven [1].", 4, 0.5)


def test_a_conversation_that_is_streamed_is_kept(bundle: Path, tmp_path: Path) -> None:
    generator = Halting()
    generator.go_on(2 * len(WORDS))
    with halting(bundle, tmp_path / "serve.db", generator) as server:
        *_, (name, first) = events(iter(server.post("/chat", **asked("/chat")).text.splitlines()))
        assert (name, first["turn"]) == ("answer", 1)
        *_, (_, second) = events(iter(server.post("/chat", **asked("/chat"), session=first["session"]).text.splitlines()))
        assert (second["turn"], second["session"]) == (2, first["session"])


def test_what_breaks_in_the_middle_is_told_in_the_stream(bundle: Path, tmp_path: Path) -> None:
    generator = Halting(fails=True)
    generator.go_on()
    with halting(bundle, tmp_path / "serve.db", generator) as server:
        found = list(events(iter(server.post("/chat", **asked("/chat")).text.splitlines())))
        assert [name for name, _ in found] == ["passages", "piece", "error"]
        problem = response_models.Problem.model_validate(found[-1][1])
        assert (problem.status, problem.detail, problem.remedy) == (502, "model: went away", "start it again")


def test_what_fails_unforeseen_is_told_without_its_words(bundle: Path, tmp_path: Path) -> None:
    class Failing(Halting):
        def stream(self, request: Request) -> Iterator[str]:
            yield "At "
            raise RuntimeError("a secret")

    with halting(bundle, tmp_path / "serve.db", Failing()) as server:
        text = server.post("/ask", **asked("/ask")).text
        assert '"status":500' in text
        assert "secret" not in text
        response = server.post("/ask", question=QUESTION)
        assert (response.status_code, "secret" in response.text) == (500, False)
        assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/ask", "/chat", "/v1/chat/completions"])
@pytest.mark.parametrize("streams", [True, False])
def test_nobody_generates_for_a_listener_who_has_left(bundle: Path, tmp_path: Path, path: str, streams: bool) -> None:
    generator = Halting()
    with halting(bundle, tmp_path / "serve.db", generator) as server:
        leave = _listen(server.url, path, asked(path) | {"stream": streams})
        generator.go_on(1)
        _until(lambda: bool(generator.said), server)
        leave()
        _until(lambda: _working(server) == 0, server)
        generator.go_on()
        assert generator.left.wait(PATIENT)
        assert len(generator.said) <= 2


def _listen(url: str, path: str, body: dict[str, Any]) -> Callable[[], None]:
    """Ask over a socket of one's own; what is given back hangs up."""
    address = httpx.URL(url)
    line = socket.create_connection((address.host, address.port), PATIENT)
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {address.host}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    line.sendall(head.encode() + data)
    return line.close


def _working(server: Live) -> float:
    """How many requests are being worked on."""
    lines = server.client.get("/metrics").text.splitlines()
    (found,) = [line for line in lines if line.startswith("assay_requests_working")] or ["x 1"]
    return float(found.split()[-1])


def _until(reached: Callable[[], bool], server: Live) -> None:
    end = time.monotonic() + PATIENT
    while not reached():
        assert server.client.get("/healthz").status_code == 200
        assert time.monotonic() < end


def test_a_server_that_stops_finishes_what_it_says(bundle: Path, tmp_path: Path) -> None:
    generator = Halting()
    with (
        halting(bundle, tmp_path / "serve.db", generator) as server,
        server.client.stream("POST", "/ask", json=asked("/ask")) as response,
    ):
        found = events(response.iter_lines())
        next(found)
        generator.go_on(1)
        next(found)
        server.server.should_exit = True
        _until_nobody_is_taken(server.url)
        generator.go_on()
        assert [name for name, _ in found] == ["piece", "piece", "answer"]


def _until_nobody_is_taken(url: str) -> None:
    with suppress(httpx.TransportError):
        while True:
            httpx.get(f"{url}/healthz", timeout=PATIENT)


def test_a_stream_that_is_silent_shows_that_it_is_alive() -> None:
    async def slow(gate: asyncio.Event) -> AsyncIterator[bytes]:
        yield b"first"
        await gate.wait()
        yield b"last"

    async def heard() -> list[bytes]:
        gate, found = asyncio.Event(), []
        async for piece in with_heartbeat(slow(gate), 0.001):
            found.append(piece)
            if piece.startswith(b":"):
                gate.set()
        return found

    found = asyncio.run(asyncio.wait_for(heard(), PATIENT))
    assert (found[0], found[-1]) == (b"first", b"last")
    assert b": still here\n\n" in found
