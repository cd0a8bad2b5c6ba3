"""The process that serves."""

import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rag.bundle.opened import Bundle
from rag.errors import ConfigError
from rag.serve.app import create_app
from rag.serve.conversations import Conversations
from rag.serve.logs import LOGGING
from rag.serve.opinions import Opinions
from rag.serve.served import Served
from rag.serve.settings import Settings
from rag.terminal.serving import serving


def run(sources: Sequence[Path], opening: Callable[[Path], Bundle], settings: Settings, *, watch: bool = False) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is being answered. ConfigError where the address is taken."""
    import uvicorn

    listening = bound(settings)
    # Until a server listens for it, SIGHUP must not end the process, and SIGTERM ends it in order at any time.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    served = Served(sources, opening, watch=watch)
    conversations = Conversations(settings.sessions, settings.idle)
    try:
        app = create_app(served, settings, conversations, Opinions(conversations.database, settings.idle))
        config = uvicorn.Config(
            app,
            log_config=dict(LOGGING),
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(settings.timeout) + 1,
        )
        serving(
            f"http://{settings.host}:{listening.getsockname()[1]}", [(one.name, one.bundle.digest) for one in served.models]
        )
        uvicorn.Server(config).run([listening])
    finally:
        conversations.close()
        listening.close()


def bound(settings: Settings) -> socket.socket:
    """The socket of an address, bound before models are loaded: who cannot have it need not wait for them."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listening.close()
        what = f"{settings.host}:{settings.port} cannot be had ({error.strerror or error})"
        raise ConfigError("address", what, "choose another with --port, or end what listens there") from error
    return listening
