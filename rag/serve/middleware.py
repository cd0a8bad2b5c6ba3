"""Middleware before every route: keys, limits, headers, errors. It is pure ASGI, so that streams pass through unbuffered.

The first middleware that objects answers. Bodies are read whole before a request waits for its turn, so a slow sender delays
no other request.
"""

import asyncio
import time
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.core.models.server_keys import is_loopback
from rag.serve import otel_spans
from rag.serve.keys import Keys
from rag.serve.limits import METRICS, Buckets, RateLimit, Shares, TurnLimit, needs_no_key
from rag.serve.logs import log_failure
from rag.serve.openapi import Responses, responses_of
from rag.serve.problems import ResponseState, end_with_problem, refuse
from rag.serve.prometheus import Meters
from rag.serve.request_log import ObserveRequests, RequestLog, note_failure
from rag.serve.settings import Settings

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
DEFAULTS = tuple((name.encode(), value.encode()) for name, value in (SECURITY | {"cache-control": "no-store"}).items())
"""The headers of a response that does not set them, as ASGI has them: answers belong to one owner, and are not cached."""

FIGURES: Responses = {
    200: {"description": "Counters and histograms.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def add_middleware(
    app: FastAPI, settings: Settings, now: Callable[[], float] = time.monotonic, bundle: Callable[[], str] | None = None
) -> None:
    """Add all middleware. `now` is the clock of the rate limit, in seconds; `bundle` the hash for responses without one."""
    turns = Shares(settings.workers, settings.queue, settings.keys.names)
    meters = Meters(turns)
    figures = responses_of(None) | FIGURES
    app.add_api_route(METRICS, meters.render, tags=["health"], response_class=Response, responses=figures)
    # The middleware that is added last sees a request first.
    app.add_middleware(TurnLimit, turns=turns, seconds=settings.timeout, most=settings.body_bytes)
    if settings.rate:
        app.add_middleware(RateLimit, buckets=Buckets(settings.rate / 60, settings.burst, now))
    app.add_middleware(RequireKey, keys=settings.keys)
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
    app.add_middleware(DefaultHeaders, bundle=bundle)
    spans = (otel_spans.Spans(settings.log_texts),) if otel_spans.wanted() else ()
    app.add_middleware(ObserveRequests, observers=(RequestLog(settings.log_texts), meters, *spans))


class DefaultHeaders:
    """Adds security headers to every response, and the hash of the default model's bundle if no other is named."""

    def __init__(self, app: ASGIApp, bundle: Callable[[], str] | None) -> None:
        self.app, self.bundle = app, bundle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add the headers that are missing."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                bundle = ((b"x-assay-bundle", self.bundle().encode()),) if self.bundle else ()
                more = (each for each in (*DEFAULTS, *bundle) if each[0] not in given)
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class ErrorMiddleware:
    """Answers unexpected errors with a problem; the log says where they were raised."""

    def __init__(self, app: ASGIApp, log_texts: bool) -> None:
        self.app, self.log_texts = app, log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and answer 500 if that fails."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        reply = ResponseState(send)
        try:
            await self.app(scope, receive, reply)
        except asyncio.CancelledError as error:
            # Uvicorn cancels requests that are not answered when a server has waited long enough to stop.
            if reply.begun:
                note_failure(error)
            await end_with_problem(scope, reply, 503, "the server stops", "ask again")
        except Exception as error:  # Its message may hold a question, and uvicorn would print it.
            log_failure(error, scope, self.log_texts)
            if reply.begun:
                note_failure(error)
            await end_with_problem(scope, reply, 500, type(error).__name__, "the server's log says where")


class LoopbackOnly:
    """A server without keys answers this machine only: no page of another origin, and no public host name.

    A page on the internet can point its own name at 127.0.0.1, and its requests would then have the same origin. Such a name
    has a dot; `localhost`, names in a container network and addresses are allowed.
    """

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        self.app, self.origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse requests from elsewhere."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin")
            if not _is_local_name(host):
                remedy = "ask 127.0.0.1, or set RAG_API_KEYS to be reached under a name"
                return await refuse(scope, send, 421, "this server has no public name", remedy)
            if origin is not None and origin not in self.origins and origin.partition("://")[2] != host:
                remedy = "name the page in RAG_ORIGINS, or set RAG_API_KEYS"
                return await refuse(scope, send, 403, "a page of another origin asks", remedy)
        await self.app(scope, receive, send)


@lru_cache(maxsize=64)
def _is_local_name(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return "." not in name or is_loopback(name) or name.replace(".", "").isdigit()


class RequireKey:
    """Requires a key for everything but health and the page, and stores its owner in `scope["state"]["owner"]`."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Store the owner, or refuse."""
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        if scope["type"] == "http":
            header = Headers(scope=scope).get("authorization")
            owner = self.keys.owner(header)
            if owner is None and not needs_no_key(scope):
                what = "the key is not known here" if header else "there is no key"
                remedy = "send the header `Authorization: Bearer <key>`; `rag bundle key NAME` makes one"
                return await refuse(scope, send, 401, what, remedy, {"www-authenticate": "Bearer"})
            scope.setdefault("state", {})["owner"] = owner
        await self.app(scope, receive, send)
