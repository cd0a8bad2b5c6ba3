"""How much and how long: requests a minute, bytes, turns, seconds."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.serve.error_responses import METRICS, Begun, give_up, is_open, refuse

LONGEST = 10
"""Times the seconds of a request that a stream may take in all: it is being read, but somebody else may wait for its turn."""


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
    """So many requests a minute for each owner."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self.app, self.buckets = app, buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what comes too soon, and say when to come again."""
        if scope["type"] == "http" and not is_open(scope):
            seconds = math.ceil(self.buckets.wait(scope["state"]["owner"]))
            if seconds:
                remedy = f"ask again in {seconds} s; RAG_RATE and RAG_BURST set the limit"
                headers = {"retry-after": str(seconds)}
                return await refuse(scope, send, 429, "this key asks too often", remedy, headers)
        await self.app(scope, receive, send)


class FullError(Exception):
    """Nobody else may wait."""


class GoneError(Exception):
    """Who asked did not wait."""


class Turns:
    """At most `workers` are at work, at most `queue` wait; `working` and `waiting` say how many there are."""

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
    """Turns for all. Of several owners each has half of them at most: none can keep all others waiting."""

    def __init__(self, workers: int, queue: int, owners: Collection[str] = ()) -> None:
        self._all = Turns(workers, queue)
        several = owners if len(owners) > 1 else ()
        self._own = {owner: Turns(math.ceil(workers / 2), math.ceil(queue / 2)) for owner in several}

    @property
    def working(self) -> int:
        """How many are at work."""
        return self._all.working

    @property
    def waiting(self) -> int:
        """How many wait, for their owner's turn or for that of all."""
        return self._all.waiting + sum(own.waiting for own in self._own.values())

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """A turn of an owner; FullError where too many wait."""
        async with self._own.get(owner) or nullcontext(), self._all:
            yield


class InTurn:
    """A body of bounded size, a turn in a bounded queue, and a deadline over both and the answer.

    A stream of events has as many seconds again with each of its pieces, and LONGEST times as many in all: a slow model that
    goes on is not broken off. Comments, which keep a connection alive, do not count.
    """

    def __init__(self, app: ASGIApp, turns: Shares, seconds: float, most: int) -> None:
        self.app, self.turns, self.seconds, self.most = app, turns, seconds, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, wait, answer; 413, 503 and 504 where that fails. Figures wait for no turn: they tell when all are taken."""
        if scope["type"] != "http" or is_open(scope) or scope["path"] == METRICS:
            return await self.app(scope, receive, send)
        reply = Begun(send)
        try:
            async with asyncio.timeout(self.seconds) as deadline:
                await self._answer(scope, receive, self._prolonging(reply, deadline))
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
                what = f"nothing more came for {self.seconds:g} s, or the whole took {LONGEST * self.seconds:g} s"
            # Whatever is still sent of the request would be taken for the next one.
            await give_up(scope, reply, 504, what, remedy, {"connection": "close"})

    def _prolonging(self, reply: Begun, deadline: asyncio.Timeout) -> Send:
        loop = asyncio.get_running_loop()
        latest = loop.time() + LONGEST * self.seconds

        async def send(message: Message) -> None:
            await reply(message)
            if reply.events and not deadline.expired() and not message.get("body", b":").startswith(b":"):
                deadline.reschedule(min(loop.time() + self.seconds, latest))

        return send

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await whole(receive, self.most) if _fits(scope, self.most) else None
        if body is None:
            what, remedy = f"the body has more than {self.most} bytes", "send less; RAG_BODY_BYTES sets the limit"
            # What was not read would be taken for the next request.
            return await refuse(scope, send, 413, what, remedy, {"connection": "close"})
        async with self.turns.turn(scope["state"]["owner"]):
            await self.app(scope, again(body, receive), send)


def _fits(scope: Scope, most: int) -> bool:
    declared = Headers(scope=scope).get("content-length", "")
    return not declared.isdigit() or int(declared) <= most


async def whole(receive: Receive, most: int) -> bytes | None:
    """The body of a request; None where it has more than `most` bytes."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """A body that was read before, and then whatever comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed
