"""Real servers for tests: an app on a free port in a thread, or `rag serve` as a process."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
import uvicorn
from support.small_server import TWO_KEYS

from rag.serve.app import create_app
from rag.serve.connections import BoundedConnection
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.keys import Keys, hashed
from rag.serve.loaded_bundles import Served
from rag.serve.settings import Settings

PATIENT = 60
"""Seconds that tests wait at most: machines can be slow."""


@dataclass(frozen=True)
class Server:
    """A server that answers at `url`, its parts, and a client without a key."""

    url: str
    served: Served
    conversations: Conversations
    opinions: Opinions
    server: uvicorn.Server
    client: httpx.Client

    def as_owner(self, name: str) -> httpx.Client:
        """A client with the key of an owner."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {key_of(name)}"}, timeout=PATIENT)

    def post(self, path: str, **body: Any) -> httpx.Response:
        """The response to one request."""
        return self.client.post(path, json=body)

    def payload(self, path: str, **body: Any) -> dict[str, Any]:
        """The JSON of a response, which must be 200."""
        response = self.post(path, **body)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def events(self, path: str, **body: Any) -> list[tuple[str, Any]]:
        """All events of a streamed response."""
        return list(events_of(self.post(path, **body).text.splitlines()))


def key_of(name: str) -> str:
    """The key of an owner."""
    return f"sk-assay-{name}"


@contextmanager
def running(
    bundles: Sequence[Path] | Served,
    database: Path | str,
    owners: Sequence[str] = (),
    now: Callable[[], float] = time.time,
    **settings: Any,
) -> Iterator[Server]:
    """A server of bundles, the first the default, with its sessions in a database: a file or a URL.

    Running requests are finished when the block ends.
    """
    keys = Keys(tuple((name, hashed(key_of(name))) for name in owners))
    chosen = Settings(**{"rate": 0, "timeout": 600, "keys": keys} | settings)
    served = bundles if isinstance(bundles, Served) else Served(bundles)
    conversations = Conversations(database if isinstance(database, str) else f"sqlite:///{database}", chosen.idle, now)
    opinions = Opinions(conversations.database, chosen.idle, now)
    try:
        with (
            in_thread(create_app(served, chosen, conversations, opinions), lifespan="on") as (url, server),
            httpx.Client(base_url=url, timeout=PATIENT) as client,
        ):
            yield Server(url, served, conversations, opinions, server, client)
    finally:
        conversations.database.close()


@contextmanager
def in_thread(app: Any, **config: Any) -> Iterator[tuple[str, uvicorn.Server]]:
    """A real server of any app: its URL and the server. `config` is for uvicorn."""
    options = {"http": BoundedConnection, "log_config": None, "access_log": False}
    server = uvicorn.Server(uvicorn.Config(app, **options | config))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # The socket listens already: the first request waits until the server accepts.
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", server
        finally:
            server.should_exit = True
            thread.join(PATIENT)


def address_of(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parsed = httpx.URL(url)
    return parsed.host, int(parsed.port or 80)


def events_of(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The events of a stream as they come: name and data."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def until(reached: Callable[[], object], pause: float = 0.02) -> None:
    """Wait until a condition is true; fail after PATIENT seconds."""
    deadline = time.monotonic() + PATIENT
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(pause)


@dataclass(frozen=True)
class ServerProcess:
    """`rag serve` as a process: its URL, and what it has written on standard error."""

    url: str
    process: "subprocess.Popen[str]"
    errors: IO[str]

    def bundle(self) -> str:
        """The hash of the bundle that it answers from."""
        return httpx.get(f"{self.url}/healthz", timeout=PATIENT).headers["x-assay-bundle"]


@contextmanager
def serving_process(bundle: Path, folder: Path, keys: Keys = TWO_KEYS, **environment: str) -> Iterator[ServerProcess]:
    """`rag serve` on a free port, which is killed when the block ends."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "OTEL_", "MLFLOW_"))}
    variables = {"RAG_API_KEYS": ",".join(f"{name}:{digest}" for name, digest in keys.entries), "COLUMNS": "200"}

    command = [sys.executable, "-m", "rag", "serve", "--port", "0", str(bundle)]
    with (folder / "errors").open("w", encoding="utf-8") as errors, (folder / "errors").open(encoding="utf-8") as written:
        pipes = {"stdout": subprocess.PIPE, "stderr": errors, "text": True}
        with subprocess.Popen(command, cwd=folder, env=inherited | variables | environment, **pipes) as process:  # type: ignore[call-overload]
            try:
                line = next((line for line in process.stdout if line.startswith("http://")), "")
                assert line, written.read()
                yield ServerProcess(line.split()[0], process, written)
            finally:
                process.kill()
