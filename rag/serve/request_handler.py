"""Where questions are taken: what a body asks for, of which model, for whom."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from rag.core.errors import ServiceError, UserError
from rag.core.records import Span, Turn
from rag.pipeline.search_filter import EVERYTHING, Scope
from rag.serve import problems
from rag.serve.answer_job import Asking
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.json_output import written
from rag.serve.loaded_bundles import Served
from rag.serve.logs import tell_failure
from rag.serve.request_log import broke
from rag.serve.request_models import AskBody, AskRequest, Within
from rag.serve.settings import Settings

LOG = logging.getLogger("rag.serve")
PATIENCE = 15.0
"""Seconds after which a silent stream shows that it is alive: proxies close what says nothing."""


GONE = 499
"""The status that nobody reads, as nginx has it."""


@dataclass(frozen=True)
class SessionPosition:
    """Where in a session a question stands: behind turn number `seen`."""

    session: str
    seen: int = 0


@dataclass(frozen=True)
class Desk:
    """All that routes need. `pool` has the threads that answers are generated in."""

    served: Served
    settings: Settings
    conversations: Conversations
    opinions: Opinions
    pool: ThreadPoolExecutor

    async def take(self, body: AskRequest, history: Sequence[Turn] = ()) -> Asking:
        """Search for a question."""
        if len(body.question) > self.settings.question_chars:
            what = f"has {len(body.question)} characters"
            raise UserError("question", what, f"at most {self.settings.question_chars}; RAG_QUESTION_CHARS sets the limit")
        model, scope = self.served.pick(body.model), scope_of(body.within)
        return await Asking.begin(model, body.question, history, scope, self.pool)

    async def answer(self, request: Request, body: AskBody, asking: Asking, place: SessionPosition | None = None) -> Response:
        """Answer in the form that a body asks for."""
        if body.stream:
            pieces = self._events(request, body, asking, place)
            return Events(pieces, asking)
        told = await self.complete(request, asking, body.show, place)
        return told if isinstance(told, Response) else sent(told, asking.headers)

    async def complete(
        self, request: Request, asking: Asking, show: Sequence[str] = (), place: SessionPosition | None = None
    ) -> dict[str, Any] | Response:
        """The complete answer; an empty response where who asked has gone, and then nobody generates any further."""
        work = asyncio.ensure_future(asking.complete(self.pool))
        if not await attended(request, work):
            return Response(status_code=GONE)
        await work
        return await self.store_answer(owner_of(request), asking.payload(show), place)

    async def _events(
        self, request: Request, body: AskBody, asking: Asking, place: SessionPosition | None
    ) -> AsyncIterator[bytes]:
        try:
            known = asking.passages()
            yield event("passages", known)
            async for piece in asking.pieces(self.pool, early=True):
                # Guards and the budget of tokens may have left some out, and then the numbers are others.
                if asking.speaker.said and (read := asking.passages_read()) != known:
                    yield event("passages", known := read)
                yield event("piece", {"text": piece})
            yield event("answer", await self.store_answer(owner_of(request), asking.payload(body.show), place))
        except UserError as error:
            broke(error)
            yield event("error", problems.problem_from(error))
        except Exception as error:
            broke(error)
            tell_failure(error, request.scope, self.settings.log_texts)
            yield event("error", problems.failure(error))

    async def store_answer(self, owner: str, told: dict[str, Any], place: SessionPosition | None = None) -> dict[str, Any]:
        """An answer that its session has, or that can at least be rated."""
        if place is None:
            try:
                await run_in_threadpool(self.opinions.keep, owner, told)
            except ServiceError as error:
                LOG.warning("an answer cannot be rated: %s", error)
            return told
        told["session"] = place.session
        args = (owner, place.session, told["question"], told["answer"], told, place.seen)
        told["turn"] = await run_in_threadpool(self.conversations.append, *args)
        return told


class Events(StreamingResponse):
    """A stream of events; when it ends, or whoever listens has gone, the answer is broken off at once."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncIterator[bytes], asking: Asking) -> None:
        super().__init__(beating(pieces), headers=asking.headers)
        self.asking = asking

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.asking.stop()


def desk_of(request: Request) -> Desk:
    """The desk of an app."""
    desk: Desk = request.app.state.desk
    return desk


def owner_of(request: Request) -> str:
    """Whose key a request brought."""
    return str(getattr(request.state, "owner", None) or "anyone")


def scope_of(within: Within | None) -> Scope:
    """Where a body wants a question looked for."""
    if within is None:
        return EVERYTHING
    names = {
        name: None if (some := getattr(within, name)) is None else tuple(some) for name in ("documents", "sections", "whole")
    }
    chosen = within.range
    span = Span(chosen.doc_id, chosen.start, chosen.end) if chosen else None
    return Scope(tags=within.tags, range=span, **names)


def sent(told: Any, headers: dict[str, str]) -> Response:
    """A JSON response; what is no number is null."""
    return Response(written(told), headers=headers, media_type="application/json")


def event(name: str, told: Any) -> bytes:
    """A server-sent event."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), written(told))


async def attended(request: Request, work: "asyncio.Future[Any]") -> bool:
    """Wait for work; False when who asked went away before, and then the work is cancelled."""
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        return work.done()
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def beating(pieces: AsyncIterator[bytes], seconds: float = PATIENCE) -> AsyncIterator[bytes]:
    """A stream with a comment in it wherever it says nothing for so long."""
    following = asyncio.ensure_future(anext(pieces, None))
    try:
        while True:
            done, _ = await asyncio.wait((following,), timeout=seconds)
            if not done:
                yield b": still here\n\n"
                continue
            if (piece := following.result()) is None:
                return
            yield piece
            following = asyncio.ensure_future(anext(pieces, None))
    finally:
        following.cancel()
