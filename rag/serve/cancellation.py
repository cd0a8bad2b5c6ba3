"""A generator that can be told to stop: nobody pays for an answer that nobody waits for any more."""

import threading
from collections.abc import Generator as Pieces
from collections.abc import Sequence
from typing import Any

from rag.core.records import Chunk, Message, Reply, Request
from rag.core.roles import Generator


class GoneError(Exception):
    """Nobody listens any more."""


class Stoppable:
    """A generator that raises GoneError when it is about to begin, or between two pieces, after `stop` was called.

    `said` are the messages that it was sent first, those of a second attempt hold the first reply as well; `read` are the
    passages in them.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._stopped = threading.Event()
        self.said: tuple[Message, ...] = ()
        self.read: tuple[Chunk, ...] = ()

    def __getattr__(self, name: str) -> Any:
        # What a generator says of itself, such as `costly`, holds for it here too.
        return getattr(self._generator, name)

    def stop(self) -> None:
        """Break off."""
        self._stopped.set()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """As the generator does."""
        self._go_on(requests[-1])
        return self._generator.generate(requests)

    def stream(self, request: Request) -> Pieces[str, None, Reply | None]:
        """As the generator does, the reply at its end included."""
        self._go_on(request)
        pieces = self._generator.stream(request)
        try:
            while True:
                piece = next(pieces)
                self._go_on(request)
                yield piece
        except StopIteration as end:
            return end.value if isinstance(end.value, Reply) else None
        finally:
            if isinstance(pieces, Pieces):
                pieces.close()

    def _go_on(self, request: Request) -> None:
        if not self.said:
            self.read, self.said = request.contexts, request.messages
        if self._stopped.is_set():
            raise GoneError
