"""A tiny model folder, an endpoint that speaks the embeddings protocol, and a small distilled model."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tiny_model import write_tiny

from rag.components.embedders import static


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer and 16 dimensions with mean pooling, saved the way the library saves models."""
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny")


ALL_BUT_SHORT = r"(?!(\[PAD\]|\[UNK\]|days|leave|(##)?[a-z]{1,2})$).*"
"""Leaves out all word pieces but some hundred."""


@pytest.fixture(scope="session")
def small_static_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with a real distillation of some hundred word pieces, which takes two seconds instead of thirty."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "NEVER_TEXT", re.compile(ALL_BUT_SHORT))
        static.StaticEmbedder(cache=str(cache)).embed_documents(["days"])
    return cache


@pytest.fixture
def small_distillation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distillations of a test take a second."""
    monkeypatch.setattr(static, "NEVER_TEXT", re.compile(r"(?!(\[PAD\]|\[UNK\]|days|[a-z])$).*"))


class Endpoint(ThreadingHTTPServer):
    """Answers `POST /v1/embeddings`, first with the entries of `script`, one per request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.script: list[tuple[int, dict[str, str], Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        if self.script:
            return self.script.pop(0)
        data = [
            {"object": "embedding", "index": number, "embedding": vector_of(text, request.get("dimensions", 8))}
            for number, text in enumerate(request["input"])
        ]
        return (
            200,
            {},
            {"object": "list", "data": data[::-1], "model": request["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}},
        )


class Conversation(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.server.keys.append(self.headers["Authorization"])
        known = self.path == "/v1/embeddings"
        status, headers, body = self.server.answer(request) if known else (404, {}, {"error": {"message": "no such path"}})
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def vector_of(text: str, dimensions: int) -> list[float]:
    seed = list(hashlib.sha256(text.encode()).digest())
    return np.random.default_rng(seed).normal(size=dimensions).tolist()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A server on this machine and a key for it in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-word")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
