"""Connections with bounds on every request: bytes, seconds, requests sent ahead, and connections in all.

Uvicorn reads heads and trailers of any length, for any time, and waits for clients that read nothing.
"""

import asyncio
import socket
from functools import partial
from typing import Any, ClassVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD = 65_536
"""Bytes of a message that are no body: request line, headers, chunk sizes, trailers. One read of the socket more or less."""

FRAMING = 8
"""A body that comes in chunks earns one more of these bytes for so many of its own."""

AHEAD = 8
"""Requests that may wait on one connection for the answers to earlier ones."""

LINGER = 2.0
"""Seconds that a connection drops the rest of an answered request before it closes: a reset could destroy the answer.

RFC 9112, section 9.6.
"""

UNSENT = 16_384
"""Bytes that the system keeps of an answer before it sends them: more would hide from us whether the client reads."""


class TooManyAheadError(Exception):
    """A client sent more than AHEAD requests without waiting for answers."""


class BoundedConnection(HttpToolsProtocol):
    """Refuses a message with too many bytes beside its body, and closes a connection that does not go on.

    A head has `patience` seconds from its first byte, the first one from the opening of the connection. An answer that waits to
    be sent must go on within `patience` seconds. A request that is answered before its body ends is the last of its connection.
    Where `limit_concurrency` connections are open, a new one takes the place of the one that waits longest for a request.
    """

    patience: ClassVar[float] = 20.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head, self._begun, self._ended, self._lingers = True, False, False, False
        self._beside = self._body = self._unsent = 0
        self.since = 0.0
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no complete request is being answered."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room, and wait for a request."""
        super().connection_made(transport)
        if (option := getattr(socket, "TCP_NOTSENT_LOWAT", None)) and (opened := transport.get_extra_info("socket")):
            opened.setsockopt(socket.IPPROTO_TCP, option, UNSENT)
        self._wait()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Parse, and count what is no body."""
        if self._lingers:
            return
        if not self._begun:
            self._wait()
        self._begun, self._ended, self._body = True, False, 0
        super().data_received(data)
        # Where a message ended in these bytes, they are mostly its own and not the next one's.
        if self._ended or self.transport.is_closing():
            return
        self._beside += len(data) - self._body - self._body // FRAMING
        if self._beside > HEAD:
            self.send_400_response("The headers are too long.")

    def on_message_begin(self) -> None:
        """Take a message, unless too many wait. TooManyAheadError makes the parser stop."""
        if len(self.pipeline) >= AHEAD:
            raise TooManyAheadError
        super().on_message_begin()
        self._begun = True
        if self._late is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Stop waiting: the guards have a deadline for the body."""
        super().on_headers_complete()
        self._in_head = False
        _cancel(self._late)
        self._late = None
        if self.parser.should_upgrade():
            # The parser reads nothing behind such a request.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Count."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect another head."""
        super().on_message_complete()
        self._in_head, self._begun, self._ended, self._beside = True, False, True, 0
        self.since = self.loop.time()

    def on_response_complete(self) -> None:
        """Take another request, unless the last one is not complete."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch()
        elif self.cycle.response_complete and self.cycle.more_body:
            self._lingers = True
            self._unset_keepalive_if_required()
            self.transport.write_eof()
            self.loop.call_later(LINGER, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Refuse, or close where the refusal would stand in another answer or behind one."""
        other = self.cycle is not None and not self.cycle.response_complete if self._in_head else self.cycle.response_started
        if other or self.pipeline:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Have the client read on."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        if not self.transport.is_closing():
            _cancel(self._stalled)

    def timeout_keep_alive_handler(self) -> None:
        """Close; what the client has not read by now it does not get."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        _cancel(self._late)
        _cancel(self._stalled)
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, partial(_answered, cycle, app))

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
        waiting = (one for one in self.connections if isinstance(one, BoundedConnection) and one.waits and one is not self)
        longest = min(waiting, key=lambda one: one.since, default=None)
        if longest is not None:
            longest.transport.abort()
            self.connections.discard(longest)


async def _answered(cycle: RequestResponseCycle, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Run an app; say `Connection: close` where it answers before the request is complete."""

    async def closing(message: Message) -> None:
        if cycle.more_body:
            # Uvicorn sends the header at the start, and must not close at the end: the connection lingers.
            cycle.keep_alive = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    await app(scope, receive, closing)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
