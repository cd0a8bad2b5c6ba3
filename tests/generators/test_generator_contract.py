"""Laws that every choice in conf/generator keeps; a choice that asks a server asks one that plays along."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from rag.build import Components
from rag.records import Chunk, Message, Query, Request, Span
from rag.roles import Generator, fingerprint

CHOICES = sorted((Path(__file__).parents[2] / "conf" / "generator").glob("*.yaml"))
TEXTS = ("Leave is 26 days. Sick pay is full.", "Otters swim in the river.", "The gauge at weir 7 is broken.")


class Parrot(BaseHTTPRequestHandler):
    """Answers every chat with the first 20 characters of its last message and a citation of source 1."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = asked["messages"][-1]["content"][:20] + " [1] [99]"
        if asked.get("stream"):
            events = [
                {"delta": {"content": text[:7]}},
                {"delta": {"content": text[7:]}},
                {"delta": {}, "finish_reason": "stop"},
            ]
            body = "".join(f"data: {json.dumps({'choices': [event]})}\n\n" for event in events) + "data: [DONE]\n\n"
        else:
            body = json.dumps({"choices": [{"message": {"content": text}}], "usage": {}})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if asked.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def parrot() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Parrot) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture(params=CHOICES, ids=lambda path: path.stem)
def generator(request: pytest.FixtureRequest, parrot: str, monkeypatch: pytest.MonkeyPatch) -> Generator:
    monkeypatch.setenv("OPENAI_BASE_URL", parrot)
    node: Any = OmegaConf.to_container(OmegaConf.load(request.param), resolve=True)
    built: Generator = Components().role("generator", node)
    return built


def request_for(question: str, count: int = 3) -> Request:
    chunks = tuple(Chunk(Span(f"d{number}", 0, len(text)), text) for number, text in enumerate(TEXTS[:count]))
    return Request(Query(question, question), chunks, (Message("system", "Answer."), Message("user", question)))


REQUESTS = [request_for("How many days is leave?"), request_for("Which gauge is broken?"), request_for("Is pay full?", 0)]


def test_one_reply_per_request_in_order(generator: Generator) -> None:
    together = generator.generate(REQUESTS)
    alone = [generator.generate([request])[0] for request in REQUESTS]
    assert [(reply.text, reply.citations) for reply in together] == [(reply.text, reply.citations) for reply in alone]
    assert [reply.text for reply in generator.generate(REQUESTS[::-1])] == [reply.text for reply in together][::-1]


def test_no_requests_no_replies(generator: Generator) -> None:
    assert generator.generate([]) == []


def test_citations_are_numbers_of_contexts_that_the_text_cites(generator: Generator) -> None:
    for request, reply in zip(REQUESTS, generator.generate(REQUESTS), strict=True):
        assert all(1 <= number <= len(request.contexts) and f"[{number}]" in reply.text for number in reply.citations)
        assert len(set(reply.citations)) == len(reply.citations)


def test_the_pieces_of_a_stream_are_the_reply(generator: Generator) -> None:
    for request, reply in zip(REQUESTS, generator.generate(REQUESTS), strict=True):
        assert "".join(generator.stream(request)) == reply.text


def test_counts_are_counts(generator: Generator) -> None:
    for reply in generator.generate(REQUESTS):
        assert min(reply.prompt_tokens, reply.completion_tokens) >= 0
        assert not reply.cost < 0


def test_fingerprints_need_no_server(generator: Generator) -> None:
    assert fingerprint(generator) == fingerprint(generator)


def test_none_alone_changes_nothing() -> None:
    marked = [path.stem for path in CHOICES if getattr(_class_of(path), "changes_nothing", False)]
    assert marked == ["none"]


def _class_of(path: Path) -> type:
    return Components().resolve(OmegaConf.load(path)["_target_"], path.stem)
