"""What stands before every route: who may ask, how much, how long. Pure ASGI, so that a stream passes through as it comes.

The first guard that objects answers; what it guards never sees the request. Bodies are read whole before a request waits for
its turn: a slow sender keeps nobody waiting but itself.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.serve import otel_spans
from rag.serve.error_responses import METRICS, Begun, give_up, is_open, refuse
from rag.serve.keys import Keys
from rag.serve.limits import Buckets, InTurn, RateLimit, Shares
from rag.serve.logs import tell_failure
from rag.serve.mlflow_traces import Sampled
from rag.serve.openapi import Responses, promises
from rag.serve.prometheus import Meters
from rag.serve.request_log import Observed, RequestLog, Watcher, broke
from rag.serve.settings import Settings, is_loopback

POLICY = ("default-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "object-src 'none'")
SECURITY = {
    "content-security-policy": "; ".join(POLICY),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
STORED = {"cache-control": "no-store"}
"""Of what does not say itself how long it may be kept: answers are nobody else's."""

ADDED = [(name.encode(), value.encode()) for name, value in (SECURITY | STORED).items()]

FIGURES: Responses = {
    200: {"description": "Counters and histograms.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def protect(app: FastAPI, settings: Settings, now: Callable[[], float] = time.monotonic) -> None:
    """Put all guards before an app. `now` is the clock of the rate limit, in seconds."""
    turns = Shares(settings.workers, settings.queue, settings.keys.names)
    meters = Meters(turns)
    app.add_api_route(METRICS, meters.render, tags=["health"], response_class=Response, responses=promises(None) | FIGURES)
    # Added last, met first.
    app.add_middleware(InTurn, turns=turns, seconds=settings.timeout, most=settings.body_bytes)
    if settings.rate:
        app.add_middleware(RateLimit, buckets=Buckets(settings.rate / 60, settings.burst, now))
    app.add_middleware(Keyed, keys=settings.keys)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("Authorization", "Content-Type"),
            expose_headers=("X-Assay-Bundle", "X-Request-Id", "Retry-After"),
        )
    if not settings.keys:
        app.add_middleware(LoopbackOnly, origins=settings.origins)
    app.add_middleware(ErrorMiddleware, log_texts=settings.log_texts)
    app.add_middleware(Secured)
    app.add_middleware(Observed, watchers=(RequestLog(settings.log_texts), meters, *_traces(settings)))


def _traces(settings: Settings) -> Iterator[Watcher]:
    if otel_spans.wanted():
        yield otel_spans.Spans(settings.log_texts)
    if settings.trace_share:
        yield Sampled(settings.trace_share, settings.log_texts)


class Secured:
    """Security headers on every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add what is not there."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                message = {**message, "headers": headers + [(name, value) for name, value in ADDED if name not in there]}
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class ErrorMiddleware:
    """What nobody foresaw becomes a problem; the log says where it came from, and its words only where texts may be logged."""

    def __init__(self, app: ASGIApp, log_texts: bool) -> None:
        self.app, self.log_texts = app, log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and answer 500 where that fails."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        reply = Begun(send)
        try:
            await self.app(scope, receive, reply)
        except asyncio.CancelledError as error:
            # Uvicorn cancels what is not answered when a server has waited long enough to stop.
            if reply.begun:
                broke(error)
            await give_up(scope, reply, 503, "the server stops", "ask again")
        except Exception as error:  # Whatever it is: its message may hold a question, and the server's runner would print it.
            tell_failure(error, scope, self.log_texts)
            if reply.begun:
                broke(error)
            await give_up(scope, reply, 500, type(error).__name__, "the server's log says where")


class LoopbackOnly:
    """Without keys, only this machine may ask: no page elsewhere, and no name that leads here from elsewhere.

    A page on the internet can point its own name at 127.0.0.1 and would then count as the same origin. Such a name has a dot;
    `localhost`, the names of a container network and addresses are no such names.
    """

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        self.app, self.origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what comes from elsewhere."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin")
            if not _is_plain(host):
                remedy = "ask 127.0.0.1, or set RAG_API_KEYS to be reached under a name"
                return await refuse(scope, send, 421, "without keys this server has no public name", remedy)
            if origin is not None and origin not in self.origins and origin.partition("://")[2] != host:
                remedy = "name the page in RAG_ORIGINS, or set RAG_API_KEYS"
                return await refuse(scope, send, 403, "a page of another origin asks, and there are no keys", remedy)
        await self.app(scope, receive, send)


def _is_plain(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return "." not in name or is_loopback(name) or name.replace(".", "").isdigit()


class Keyed:
    """A key for everything but health and the page; whose it is stands in `scope["state"]["owner"]`."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the owner, or refuse."""
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        if scope["type"] == "http":
            header = Headers(scope=scope).get("authorization")
            owner = self.keys.owner(header)
            if owner is None and not is_open(scope):
                what = "the key is not known here" if header else "there is no key"
                remedy = "send the header `Authorization: Bearer <key>`; `rag key NAME` makes one"
                return await refuse(scope, send, 401, what, remedy, {"www-authenticate": "Bearer"})
            scope.setdefault("state", {})["owner"] = owner
        await self.app(scope, receive, send)
