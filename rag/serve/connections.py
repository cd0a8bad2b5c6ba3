"""Connections that nobody can fill or hold open with a request that never gets to its point.

The server's runner reads headers of any length, for any time, before anything else sees the request.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = 65_536
"""Bytes that a request line and its headers may have, a piece of the network's more or less."""

PATIENCE = 20.0
"""Seconds in which they must have come, from the first byte or from the opening of a connection."""


class BoundedConnection(HttpToolsProtocol):
    """Refuses a head that is too long with 400, and closes a connection whose head does not come."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head, self._ended, self._head = True, False, 0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, for a while."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on where the head is not complete and not too long."""
        self._ended = False
        super().data_received(data)
        # Where a request ended in these bytes, most of them were its body.
        if not self._in_head or self._ended or self.transport.is_closing():
            return
        self._head += len(data)
        if self._head > HEAD:
            self.send_400_response("The headers are too long.")
        elif self._patience is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Another head may follow."""
        super().on_message_complete()
        self._in_head, self._ended, self._head = True, True, 0

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._patience = self.loop.call_later(PATIENCE, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
