"""JSON responses and streams of server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import PydanticSerializationError, to_json
from starlette.types import Receive, Scope, Send

SILENCE = 15.0
"""Seconds without an event after which a stream sends a comment: proxies close silent connections."""


def json_bytes(payload: Any) -> bytes:
    """JSON in UTF-8; NaN and infinities become null.

    A model may send the two halves of a surrogate pair in two pieces. UTF-8 cannot encode one half, so such a payload is sent
    in ASCII with escapes.
    """
    try:
        return to_json(payload, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(payload, allow_nan=False).encode()


def json_response(payload: Any, headers: Mapping[str, str] | None = None) -> Response:
    """A response with a JSON body."""
    return Response(json_bytes(payload), headers=dict(headers or {}), media_type="application/json")


def event(name: str, payload: Any) -> bytes:
    """A server-sent event."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json_bytes(payload))


class EventStream(StreamingResponse):
    """A stream of events. `stop` is called when it ends, or as soon as the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], headers: Mapping[str, str], stop: Callable[[], None]) -> None:
        super().__init__(with_heartbeat(events), headers=dict(headers))
        self.stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.stop()


async def with_heartbeat(events: AsyncIterator[bytes], seconds: float = SILENCE) -> AsyncIterator[bytes]:
    """Add a comment to a stream whenever no event came for so many seconds."""
    following = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait((following,), timeout=seconds)
            if not done:
                yield b": still here\n\n"
                continue
            if (piece := following.result()) is None:
                return
            yield piece
            following = asyncio.ensure_future(anext(events, None))
    finally:
        following.cancel()


async def finished_for_client(request: Request, work: "asyncio.Future[Any]") -> bool:
    """Wait for work; if the client disconnects first, cancel the work and return False."""
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        return work.done()
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
