"""A real server on a free port, over a small bundle, that ends with its block."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from rag.serve.app import create_app
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.keys import Keys, hashed
from rag.serve.loaded_bundles import Served
from rag.serve.settings import Settings

CONVERSING = ("generator=extractive", "queries=carry_over", "memory=buffer")
"""Parts of a pipeline that a conversation shows in."""


@dataclass(frozen=True)
class Running:
    """A server that answers at `url`; `conversations` and `opinions` are what it keeps."""

    url: str
    conversations: Conversations
    opinions: Opinions

    def as_owner(self, name: str) -> httpx.Client:
        """A client with the key of that owner; its requests wait long, for machines are slow."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {key_of(name)}"}, timeout=60)


def key_of(name: str) -> str:
    """The key of an owner."""
    return f"sk-assay-{name}"


@contextmanager
def running(
    bundle: Path,
    url: str,
    owners: Sequence[str],
    now: Callable[[], float] = time.time,
    beside: Sequence[Path] = (),
    **more: Any,
) -> Iterator[Running]:
    """A server of a bundle, and of others `beside` it, that keeps its sessions in the database at `url`."""
    keys = Keys(tuple((name, hashed(key_of(name))) for name in owners))
    settings = Settings(keys=keys, rate=0, sessions=url, timeout=600, **more)
    conversations = Conversations(url, settings.idle, now)
    opinions = Opinions(conversations.database, settings.idle, now)
    app = create_app(Served([bundle, *beside]), settings, conversations, opinions)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            # It listens already: the first request waits until the server takes it.
            yield Running(f"http://127.0.0.1:{listening.getsockname()[1]}", conversations, opinions)
        finally:
            server.should_exit = True
            thread.join(60)
            conversations.close()
