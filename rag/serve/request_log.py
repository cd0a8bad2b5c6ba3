"""Every request is seen once, when it has ended: by the log, by the metrics, by traces where they are asked for."""

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.serve.logs import REQUESTS, route_of

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
QUIET = ("/healthz", "/readyz", "/metrics")
"""Routes that machines ask all the time; nobody wants to read that."""

TEXTS = ("question", "answer")
GONE = 499
"""The status of a request whose client did not wait for one, as proxies log it."""


@dataclass
class Seen:
    """A request that has ended.

    `began` and `ended` are nanoseconds since 1970; `seconds` and `first`, until the first piece of an answer, are by a clock
    that nobody sets. `told` is the answer or the search result as the API has it, where there is one; `failed` names the error
    that ended a stream which had begun well.
    """

    request: str
    method: str
    began: int
    parents: Mapping[str, str]
    route: str = "-"
    status: int = GONE
    owner: str | None = None
    ended: int = 0
    seconds: float = 0.0
    first: float | None = None
    told: Mapping[str, Any] | None = None
    failed: str = ""
    _clock: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self._clock

    @property
    def steps(self) -> dict[str, float]:
        """Seconds by step of what was told."""
        timings = (self.told or {}).get("timings", {})
        return {name: seconds for name, seconds in timings.items() if name != "total"}


CURRENT: ContextVar[Seen | None] = ContextVar("seen", default=None)
"""The request that is being answered."""


def tell(told: Mapping[str, Any]) -> None:
    """Say what the current request was answered with; nothing happens where none is watched."""
    if seen := CURRENT.get():
        seen.told = told


def spoke() -> None:
    """Say that the current request's answer goes on; the first time counts."""
    if (seen := CURRENT.get()) and seen.first is None:
        seen.first = seen.elapsed()


def broke(error: BaseException) -> None:
    """Say that the current request failed after its response had begun."""
    if seen := CURRENT.get():
        seen.failed = type(error).__name__


class Watcher(Protocol):
    """Looks at requests that have ended. It must not raise, and it must not keep anybody waiting."""

    def __call__(self, seen: Seen) -> None:
        """Look at one."""

    def close(self) -> None:
        """Send what is still to be sent; the server ends."""


@dataclass(frozen=True)
class RequestLog:
    """A line for each request. What was asked and answered stands there only with `log_texts`."""

    log_texts: bool

    def __call__(self, seen: Seen) -> None:
        """Write a line."""
        known: dict[str, Any] = {"request": seen.request, "method": seen.method, "route": seen.route, "status": seen.status}
        known |= {"seconds": round(seen.seconds, 6), "owner": seen.owner}
        known |= {"failed": seen.failed} if seen.failed else {}
        told = seen.told or {}
        names = ("id", "model", "bundle", "session", "abstained", "tokens", "cost_usd", *(TEXTS if self.log_texts else ()))
        known |= {name: told[name] for name in names if told.get(name) is not None}
        REQUESTS.log(logging.DEBUG if seen.route in QUIET else logging.INFO, "answered", extra={"told": known})

    def close(self) -> None:
        """Nothing is left."""


class Observed:
    """Shows every request to watchers when it has ended, and gives it the id that logs and traces know it by."""

    def __init__(self, app: ASGIApp, watchers: Sequence[Watcher]) -> None:
        self.app, self.watchers = app, watchers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and watch."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, self._closing(send))
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        seen = _begun(scope)
        before = CURRENT.set(seen)
        try:
            await self.app(scope, receive, _watched(seen, send))
        finally:
            CURRENT.reset(before)
            seen.route, seen.owner = route_of(scope), scope["state"].get("owner")
            seen.ended, seen.seconds = time.time_ns(), seen.elapsed()
            for watcher in self.watchers:
                watcher(seen)

    def _closing(self, send: Send) -> Send:
        async def closing(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                for watcher in self.watchers:
                    await run_in_threadpool(watcher.close)
            await send(message)

        return closing


def _begun(scope: Scope) -> Seen:
    # An id of our own: one that a client sends would let it write into logs.
    request = secrets.token_hex(12)
    scope.setdefault("state", {})["request"] = request
    headers = Headers(scope=scope)
    parents = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
    method = scope["method"] if scope["method"] in METHODS else "OTHER"
    return Seen(request, method, time.time_ns(), parents)


def _watched(seen: Seen, send: Send) -> Callable[[Message], Any]:
    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            seen.status = message["status"]
            MutableHeaders(scope=message)["X-Request-Id"] = seen.request
        await send(message)

    return watched
