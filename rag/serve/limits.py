"""Limits of requests: how many per minute, how many at a time, how large, how long."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.serve.interactive import GoneError
from rag.serve.openapi import HEALTH
from rag.serve.problems import ResponseState, end_with_problem, refuse

METRICS = "/metrics"
PAGE, PAGE_FOLDER = "/", "/page/"
"""The page and its files. They hold no data; the page asks for a key itself."""

STREAM_FACTOR = 10
"""A stream may take so many times the seconds of a request in all, because others may wait for its turn."""


def needs_no_key(scope: Scope) -> bool:
    """Whether a request is for health or the page."""
    path, reads = scope["path"], scope["method"] in ("GET", "HEAD")
    return reads and (path in HEALTH or path == PAGE or path.startswith(PAGE_FOLDER))


@dataclass
class Buckets:
    """A token bucket for each owner: `burst` requests at once, then `rate` a second."""

    rate: float
    burst: int
    now: Callable[[], float]
    levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, owner: str) -> float:
        """Take a token and return 0, or the seconds until there is one."""
        now = self.now()
        level, before = self.levels.get(owner, (float(self.burst), now))
        level = min(self.burst, level + (now - before) * self.rate)
        taken = level >= 1
        self.levels[owner] = (level - taken, now)
        return 0.0 if taken else (1 - level) / self.rate


class RateLimit:
    """Limits the requests of each owner per minute."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self.app, self.buckets = app, buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer 429 with the seconds to wait."""
        if scope["type"] == "http" and not needs_no_key(scope):
            seconds = math.ceil(self.buckets.wait(scope["state"]["owner"]))
            if seconds:
                remedy = f"ask again in {seconds} s; RAG_RATE and RAG_BURST set the limit"
                headers = {"retry-after": str(seconds)}
                return await refuse(scope, send, 429, "this key asks too often", remedy, headers)
        await self.app(scope, receive, send)


class FullError(Exception):
    """The queue is full."""


class Turns:
    """At most `workers` requests work at a time and at most `queue` wait; `working` and `waiting` count them."""

    def __init__(self, workers: int, queue: int) -> None:
        self.free, self.queue = asyncio.Semaphore(workers), queue
        self.working = self.waiting = 0

    async def __aenter__(self) -> None:
        if self.free.locked() and self.waiting >= self.queue:
            raise FullError
        self.waiting += 1
        try:
            await self.free.acquire()
        finally:
            self.waiting -= 1
        self.working += 1

    async def __aexit__(self, *_: object) -> None:
        self.working -= 1
        self.free.release()


class Shares:
    """Turns for all owners. One of several owners gets at most half of them, and cannot block the others."""

    def __init__(self, workers: int, queue: int, owners: Collection[str] = ()) -> None:
        self._all = Turns(workers, queue)
        several = owners if len(owners) > 1 else ()
        self._own = {owner: Turns(math.ceil(workers / 2), math.ceil(queue / 2)) for owner in several}

    @property
    def working(self) -> int:
        """The number of requests that work."""
        return self._all.working

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a turn of their owner or of all."""
        return self._all.waiting + sum(own.waiting for own in self._own.values())

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """A turn of an owner; FullError if too many requests wait."""
        async with self._own.get(owner) or nullcontext(), self._all:
            yield


class TurnLimit:
    """Limits the size of bodies, gives requests their turns, and sets a deadline for waiting and answering.

    Each event of a stream extends the deadline by `seconds`, up to STREAM_FACTOR times as long in all, so that a slow model can
    finish. Comments, which only keep a connection open, extend nothing.
    """

    def __init__(self, app: ASGIApp, turns: Shares, seconds: float, most: int) -> None:
        self.app, self.turns, self.seconds, self.most = app, turns, seconds, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, wait, answer; 413, 503 and 504 if that fails. /metrics needs no turn: it shows when all are taken."""
        if scope["type"] != "http" or needs_no_key(scope) or scope["path"] == METRICS:
            return await self.app(scope, receive, send)
        reply = ResponseState(send)
        try:
            async with asyncio.timeout(self.seconds) as deadline:
                await self._answer(scope, receive, self._extending(reply, deadline))
        except FullError:
            remedy = "ask again in a second; RAG_WORKERS and RAG_QUEUE set how many may ask at once"
            await refuse(scope, send, 503, "too many requests wait already", remedy, {"retry-after": "1"})
        except GoneError:
            return
        except TimeoutError:
            if not deadline.expired():
                raise
            what, remedy = f"not answered within {self.seconds:g} s", "ask for less, or later; RAG_TIMEOUT sets the limit"
            if reply.begun:
                what = f"nothing more came for {self.seconds:g} s, or the whole took {STREAM_FACTOR * self.seconds:g} s"
            # The rest of the request would be parsed as the next one.
            await end_with_problem(scope, reply, 504, what, remedy, {"connection": "close"})

    def _extending(self, reply: ResponseState, deadline: asyncio.Timeout) -> Send:
        loop = asyncio.get_running_loop()
        latest = loop.time() + STREAM_FACTOR * self.seconds

        async def send(message: Message) -> None:
            await reply(message)
            if reply.events and not deadline.expired() and not message.get("body", b":").startswith(b":"):
                deadline.reschedule(min(loop.time() + self.seconds, latest))

        return send

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body(scope, receive)
        if body is None:
            what, remedy = f"the body has more than {self.most} bytes", "send less; RAG_BODY_BYTES sets the limit"
            # The rest of the body would be parsed as the next request.
            return await refuse(scope, send, 413, what, remedy, {"connection": "close"})
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return messages.pop() if messages else await receive()

        async with self.turns.turn(scope["state"]["owner"]):
            await self.app(scope, replayed, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request, or None if it is too large; GoneError if the client disconnects."""
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > self.most:
            return None
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            body += message.get("body", b"")
            if len(body) > self.most:
                return None
            more = message.get("more_body", False)
        return bytes(body)
