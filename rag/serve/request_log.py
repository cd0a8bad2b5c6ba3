"""Observes every request when it has ended: the log, the metrics, and traces if they are configured."""

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.core.redaction import redacted_json
from rag.serve.logs import REQUESTS, route_of

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
QUIET = ("/healthz", "/readyz", "/metrics")
"""Routes that machines poll; they are logged at level debug."""

TEXTS = ("question", "answer")
CLIENT_GONE = 499
"""The status of a request whose client disconnected before the response, as in nginx."""


@dataclass
class EndedRequest:
    """A request that has ended.

    `began` and `ended` are nanoseconds since 1970; `seconds` and `first` (until the first piece of an answer) come from a
    monotonic clock. `response` is the answer or search result, if there is one; `failed` names the error that ended a stream
    after its response had begun.
    """

    request: str
    method: str
    began: int
    parents: Mapping[str, str]
    route: str = "-"
    status: int = CLIENT_GONE
    owner: str | None = None
    ended: int = 0
    seconds: float = 0.0
    first: float | None = None
    response: Mapping[str, Any] | None = None
    failed: str = ""
    _clock: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.perf_counter() - self._clock

    @property
    def shown(self) -> Mapping[str, Any]:
        """The response without secrets, for traces."""
        return dict(redacted_json(self.response or {}))

    @property
    def steps(self) -> dict[str, float]:
        """Seconds by step of the response."""
        timings = (self.response or {}).get("timings", {})
        return {name: seconds for name, seconds in timings.items() if name != "total"}


CURRENT: ContextVar[EndedRequest | None] = ContextVar("request_record", default=None)
"""The record of the request that is being answered."""


def note_response(response: Mapping[str, Any]) -> None:
    """Record the answer or search result of the current request, if it is observed."""
    if record := CURRENT.get():
        record.response = response


def note_first_piece() -> None:
    """Record when the first piece of the current request's answer came; later calls change nothing."""
    if (record := CURRENT.get()) and record.first is None:
        record.first = record.elapsed()


def note_failure(error: BaseException) -> None:
    """Record that the current request failed after its response had begun."""
    if record := CURRENT.get():
        record.failed = type(error).__name__


Observer = Callable[[EndedRequest], None]
"""Receives requests that have ended. It must neither raise nor block. When the server ends, its `close` is called, if any."""


@dataclass(frozen=True)
class RequestLog:
    """Logs a line for each request; questions and answers only with `log_texts`."""

    log_texts: bool

    def __call__(self, record: EndedRequest) -> None:
        """Log a request."""
        values: dict[str, Any] = {name: getattr(record, name) for name in ("method", "route", "status")}
        values |= {"seconds": round(record.seconds, 6), "owner": record.owner}
        values |= {"failed": record.failed} if record.failed else {}
        response = record.response or {}
        ids = {"request": record.request} | ({"id": response["id"]} if "id" in response else {})
        names = ("model", "bundle", "session", "abstained", "tokens", "cost_usd", *(TEXTS if self.log_texts else ()))
        values |= {name: response[name] for name in names if response.get(name) is not None}
        REQUESTS.log(logging.DEBUG if record.route in QUIET else logging.INFO, "answered", extra={"values": values, "ids": ids})


class ObserveRequests:
    """Passes every request that has ended to observers, and gives it the id under which logs and traces know it."""

    def __init__(self, app: ASGIApp, observers: Sequence[Observer]) -> None:
        self.app, self.observers = app, observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and observe."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, self._closing(send))
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        record = _begun(scope)

        async def with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = record.request
            await send(message)

        before = CURRENT.set(record)
        try:
            await self.app(scope, receive, with_id)
        finally:
            CURRENT.reset(before)
            record.route, record.owner = route_of(scope), scope["state"].get("owner")
            record.ended, record.seconds = time.time_ns(), record.elapsed()
            for observer in self.observers:
                observer(record)

    def _closing(self, send: Send) -> Send:
        async def closing(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                for close in (each for observer in self.observers if (each := getattr(observer, "close", None))):
                    await run_in_threadpool(close)
            await send(message)

        return closing


def _begun(scope: Scope) -> EndedRequest:
    # The server makes the id: one from the client would let it write into logs.
    request = secrets.token_hex(12)
    scope.setdefault("state", {})["request"] = request
    headers = Headers(scope=scope)
    parents = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
    method = scope["method"] if scope["method"] in METHODS else "OTHER"
    return EndedRequest(request, method, time.time_ns(), parents)
