"""HTTP connections with limits: bytes and seconds of a head, pipelined requests, and the number of connections.

Uvicorn itself reads heads and trailers of any length, for any time, and waits for clients that read nothing.
"""

import asyncio
import socket
from functools import partial
from typing import Any, ClassVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD = 65_536
"""Bytes of a message outside its body (request line, headers, chunk sizes, trailers), give or take one read of the socket."""

FRAMING = 8
"""A chunked body allows one more such byte for so many bytes of its own."""

AHEAD = 8
"""Pipelined requests that may wait on one connection."""

LINGER = 2.0
"""Seconds for which the rest of an answered request is read and dropped before closing: a reset could destroy the answer.

RFC 9112, section 9.6.
"""

UNSENT = 16_384
"""Bytes of an answer that the socket buffers: with more, the server could not see whether the client reads."""


class TooManyAheadError(Exception):
    """A client pipelined more than AHEAD requests."""


class BoundedConnection(HttpToolsProtocol):
    """Refuses a message with too many bytes outside its body, and closes a connection that makes no progress.

    A head must come within `patience` seconds of its first byte, the first head within `patience` of the connection. While an
    answer waits in the buffer, the client must read some of it every `patience` seconds. A request that is answered before its
    body ends is the last of its connection. If `limit_concurrency` connections are open, a new one replaces the one that has
    waited longest for a request.
    """

    patience: ClassVar[float] = 20.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head, self._begun, self._ended, self._lingers = True, False, False, False
        self._overhead = self._body = self._unsent = 0
        self.since = 0.0
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether the server answers no complete request on this connection."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; close another connection if there are too many."""
        super().connection_made(transport)
        if (option := getattr(socket, "TCP_NOTSENT_LOWAT", None)) and (opened := transport.get_extra_info("socket")):
            opened.setsockopt(socket.IPPROTO_TCP, option, UNSENT)
        self._wait()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Parse, and count the bytes outside of bodies."""
        if self._lingers:
            return
        if not self._begun:
            self._wait()
        self._begun, self._ended, self._body = True, False, 0
        super().data_received(data)
        # If a message ended in these bytes, most of them belong to it and not to the next one.
        if self._ended or self.transport.is_closing():
            return
        self._overhead += len(data) - self._body - self._body // FRAMING
        if self._overhead > HEAD:
            self.send_400_response("The headers are too long.")

    def on_message_begin(self) -> None:
        """Begin a message. TooManyAheadError stops the parser if too many wait."""
        if len(self.pipeline) >= AHEAD:
            raise TooManyAheadError
        super().on_message_begin()
        self._begun = True
        if self._late is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Stop the clock of the head: the middleware has a deadline for the body."""
        super().on_headers_complete()
        self._in_head = False
        _cancel(self._late)
        self._late = None
        if self.parser.should_upgrade():
            # The parser reads nothing after such a request.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Count the bytes of the body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next head."""
        super().on_message_complete()
        self._in_head, self._begun, self._ended, self._overhead = True, False, True, 0
        self.since = self.loop.time()

    def on_response_complete(self) -> None:
        """Begin the next request; if the last one is not complete, drop its rest and close."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch()
        elif self.cycle.response_complete and self.cycle.more_body:
            self._lingers = True
            self._unset_keepalive_if_required()
            self.transport.write_eof()
            self.loop.call_later(LINGER, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Refuse; or close, if the refusal would become part of another answer."""
        other = self.cycle is not None and not self.cycle.response_complete if self._in_head else self.cycle.response_started
        if other or self.pipeline:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Start the clock of a client that does not read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stop the clock: the client reads."""
        super().resume_writing()
        if not self.transport.is_closing():
            _cancel(self._stalled)

    def timeout_keep_alive_handler(self) -> None:
        """Close without sending the rest."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        _cancel(self._late)
        _cancel(self._stalled)
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, partial(_closing_app, cycle, app))

    def _wait(self) -> None:
        self.since = self.loop.time()
        _cancel(self._late)
        self._late = self.loop.call_later(self.patience, self.transport.abort)

    def _watch(self) -> None:
        _cancel(self._stalled)
        self._unsent = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self.patience, self._look)

    def _look(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent >= self._unsent:
            self.transport.abort()
        elif unsent:
            self._watch()

    def _make_room(self) -> None:
        others = (other for other in self.connections if isinstance(other, BoundedConnection) and other is not self)
        longest = min((other for other in others if other.waits), key=lambda other: other.since, default=None)
        if longest is not None:
            longest.transport.abort()
            self.connections.discard(longest)


async def _closing_app(cycle: RequestResponseCycle, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Run an app; send `Connection: close` if it answers before the request is complete."""

    async def closing(message: Message) -> None:
        if cycle.more_body:
            # Uvicorn sends the header at the start, and must not close at the end: the rest of the request is read first.
            cycle.keep_alive = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    await app(scope, receive, closing)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
