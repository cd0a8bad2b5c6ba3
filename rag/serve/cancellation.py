"""A generator that can be cancelled, so that no tokens are paid for after the client has disconnected."""

import threading
from collections.abc import Generator as Pieces
from collections.abc import Sequence
from typing import Any

from rag.core.roles import Generator
from rag.core.types import Chunk, Message, Reply, Request


class GoneError(Exception):
    """The client has disconnected."""


class Stoppable:
    """A generator that raises GoneError before it begins, or between two pieces, once `stop` was called.

    `sent` holds the messages of the first attempt (a second attempt adds the first reply), `read` the passages in them.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._stopped = threading.Event()
        self.sent: tuple[Message, ...] = ()
        self.read: tuple[Chunk, ...] = ()

    def __getattr__(self, name: str) -> Any:
        # Optional attributes of a generator, such as `costly`, apply to this one too.
        return getattr(self._generator, name)

    def stop(self) -> None:
        """Cancel generation."""
        self._stopped.set()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Generate the replies to requests."""
        self._note(requests[-1])
        return self._generator.generate(requests)

    def stream(self, request: Request) -> Pieces[str, None, Reply | None]:
        """Generate a reply in pieces, and return it at the end if the generator does."""
        self._note(request)
        pieces = self._generator.stream(request)
        try:
            while True:
                piece = next(pieces)
                self._note(request)
                yield piece
        except StopIteration as end:
            return end.value if isinstance(end.value, Reply) else None
        finally:
            if isinstance(pieces, Pieces):
                pieces.close()

    def _note(self, request: Request) -> None:
        """Remember the first request; GoneError after `stop`."""
        if not self.sent:
            self.read, self.sent = request.contexts, request.messages
        if self._stopped.is_set():
            raise GoneError
