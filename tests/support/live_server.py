"""A real server on a free port, over bundles that are there, that ends with its block."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from rag.serve.app import create_app
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.loaded_bundles import Served
from rag.serve.settings import Settings

PATIENT = 60
"""Seconds: machines are slow."""


@dataclass(frozen=True)
class Live:
    """A server that answers at `url`, from what is `served`."""

    url: str
    served: Served
    server: uvicorn.Server
    client: httpx.Client

    def post(self, path: str, **body: Any) -> httpx.Response:
        """One request."""
        return self.client.post(path, json=body)

    def told(self, path: str, **body: Any) -> dict[str, Any]:
        """What a request that succeeds is answered with."""
        response = self.post(path, **body)
        assert response.status_code == 200, response.text
        return dict(response.json())


@contextmanager
def live(served: Served, database: Path, **settings: Any) -> Iterator[Live]:
    """Serve until the block ends; what is being answered then is finished first."""
    chosen = Settings(**{"rate": 0, "timeout": 600, "idle": 3600} | settings)
    conversations = Conversations(f"sqlite:///{database}", chosen.idle)
    app = create_app(served, chosen, conversations, Opinions(conversations.database, chosen.idle))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=url, timeout=PATIENT) as client:
                # It listens already: the first request waits until the server takes it.
                yield Live(url, served, server, client)
        finally:
            server.should_exit = True
            thread.join(PATIENT)
            conversations.close()


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """The events of a stream as they come: name and data."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
