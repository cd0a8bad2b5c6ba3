"""The process of a server: of `rag serve`, and of the page that reviews a golden set."""

import math
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from rag.bundle.open_bundle import Bundle
from rag.core.errors import ConfigError
from rag.reporting.terminal.serving import serving
from rag.serve.app import create_app
from rag.serve.connections import BoundedConnection
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.loaded_bundles import Served
from rag.serve.logs import LOGGING
from rag.serve.settings import Settings

KEEP = 75
"""Seconds that an idle connection stays open: longer than in proxies, which would otherwise send into a closed one."""


def run(sources: Sequence[Path], opening: Callable[[Path], Bundle], settings: Settings, *, watch: bool = False) -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests. ConfigError if the address is taken."""
    with signals_end_in_order(), closing(bound(settings)) as listening:
        served = Served(sources, opening, watch=watch)
        conversations = Conversations(settings.sessions, settings.idle)
        with closing(conversations.database):
            app = create_app(served, settings, conversations, Opinions(conversations.database, settings.idle))
            models = [(model.name, model.bundle.digest, model.bundle.stand_ins) for model in served.models]
            run_app(app, settings, listening, lambda: serving(address(listening), models), dict(LOGGING))


def run_app(
    app: FastAPI, settings: Settings, listening: socket.socket, announce: Callable[[], None], log: dict[str, Any] | None = None
) -> None:
    """Run an app on a bound socket with the limits of connections; `announce` says where, when clients may connect."""
    import uvicorn

    config = uvicorn.Config(
        app,
        http=type("PatientConnection", (BoundedConnection,), {"patience": settings.patience}),
        limit_concurrency=allowed_connections(settings.connections),
        ws="none",
        log_config=log,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP,
        timeout_graceful_shutdown=math.ceil(settings.timeout) + 1,
    )
    # A client that reads the address may connect at once; it waits until the server accepts.
    listening.listen(config.backlog)
    announce()
    uvicorn.Server(config).run([listening])


def allowed_connections(connections: int) -> int:
    """At most half of the file descriptors: databases, models and files need some too."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return connections if descriptors == resource.RLIM_INFINITY else min(connections, descriptors // 2)


@contextmanager
def signals_end_in_order() -> Iterator[None]:
    """SIGTERM ends the process like Ctrl-C at any time; SIGHUP is ignored until the server handles it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def address(listening: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def bound(settings: Settings) -> socket.socket:
    """A bound socket. It is bound before models are loaded, so that a taken address fails at once with ConfigError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listening.close()
        what = f"{settings.host}:{settings.port} cannot be used ({error.strerror or error})"
        raise ConfigError("address", what, "choose another port with --port, or end the process that listens there") from error
    return listening
