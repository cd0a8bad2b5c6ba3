"""Takes questions from requests: checks them, picks the model, searches, answers, and stores the answer."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from rag.core.errors import ServiceError, UserError
from rag.core.types import Span, Turn
from rag.pipeline.search.search_filter import Scope
from rag.serve.answer_job import AnswerJob
from rag.serve.conversations import Conversations, StoredTurn
from rag.serve.feedback import Opinions
from rag.serve.loaded_bundles import Served
from rag.serve.logs import log_failure
from rag.serve.problems import problem_event, problem_of
from rag.serve.request_log import CLIENT_GONE, note_failure
from rag.serve.request_models import AskBody, AskRequest, Within
from rag.serve.response_models import Answer
from rag.serve.responses import EventStream, event, finished_for_client, json_response
from rag.serve.settings import Settings

LOG = logging.getLogger("rag.serve")


@dataclass(frozen=True)
class SessionPosition:
    """A session, and the number of its last turn when the question was asked."""

    session: str
    seen: int = 0


@dataclass(frozen=True)
class RequestHandler:
    """What all routes use. Answers are generated in the threads of `pool`."""

    served: Served
    settings: Settings
    conversations: Conversations
    opinions: Opinions
    pool: ThreadPoolExecutor

    async def search(
        self, body: AskRequest, history: Sequence[Turn] = (), turns: Sequence[StoredTurn] = (), answers: bool = True
    ) -> AnswerJob:
        """Search for a question, `turns` before it in its session; UserError if it is too long.

        If it `answers`, nothing is searched for where a check replies to the message.
        """
        if len(body.question) > self.settings.question_chars:
            what = f"has {len(body.question)} characters"
            raise UserError("question", what, f"at most {self.settings.question_chars}; RAG_QUESTION_CHARS sets the limit")
        model, scope = self.served.pick(body.model), scope_of(body.within)
        earlier = [found for turn in turns if turn.bundle == model.bundle.digest for found in turn.found]
        return await AnswerJob.begin(model, body.question, history, scope, self.pool, earlier, answers)

    async def answer(
        self, request: Request, body: AskBody, job: AnswerJob, position: SessionPosition | None = None
    ) -> Response:
        """Answer as JSON, or as a stream if the body asks for one; UserError for an edited prompt that is not sent."""
        if body.prompt and self.settings.keys and not self.settings.edited_prompts:
            raise UserError("prompt", "was edited, which this server does not allow", "RAG_EDITED_PROMPTS=1 allows it")
        job.take(body.prompt, body.read, body.preview)
        if body.stream:
            return self.stream(request, job, self._events(request, body, job, position))
        answer = await self.complete(request, job, body.show, position)
        return json_response(answer, job.model.headers) if answer else Response(status_code=CLIENT_GONE)

    async def complete(
        self, request: Request, job: AnswerJob, show: Sequence[str] = (), position: SessionPosition | None = None
    ) -> Answer | None:
        """Return the full answer. If the client disconnects, cancel generation and return None."""
        work = asyncio.ensure_future(job.complete(self.pool))
        if not await finished_for_client(request, work):
            return None
        await work
        return await self.store_answer(owner_of(request), job, show, position)

    def stream(self, request: Request, job: AnswerJob, events: AsyncIterator[bytes], end: bytes = b"") -> EventStream:
        """Send events, then `end`. An error becomes the last event, and a client that disconnects stops generation."""

        async def with_errors() -> AsyncIterator[bytes]:
            try:
                async for each in events:
                    yield each
            except Exception as error:
                note_failure(error)
                if not isinstance(error, UserError):
                    log_failure(error, request.scope, self.settings.log_texts)
                yield problem_event(request.scope["path"], problem_of(error))
            if end:
                yield end

        return EventStream(with_errors(), job.model.headers, job.stop)

    async def _events(
        self, request: Request, body: AskBody, job: AnswerJob, position: SessionPosition | None
    ) -> AsyncIterator[bytes]:
        known: Sequence[object] = job.passages()
        yield event("passages", known)
        async for piece in job.pieces(self.pool, early=True):
            # Guards and the token budget may drop passages, which changes the numbers of the others.
            if job.generator.sent and (read := job.passages_read()) != known:
                yield event("passages", known := read)
            yield event("piece", {"text": piece})
        yield event("answer", await self.store_answer(owner_of(request), job, body.show, position))

    async def store_answer(
        self, owner: str, job: AnswerJob, show: Sequence[str] = (), position: SessionPosition | None = None
    ) -> Answer:
        """Store an answer in its session, or else for rating, but no preview; the answer with its session and turn."""
        answer = job.answer_json(show)
        if job.preview:
            return answer
        if position is None:
            try:
                await run_in_threadpool(self.opinions.keep, owner, answer)
            except ServiceError as error:
                LOG.warning("an answer cannot be rated: %s", error)
            return answer
        answer["session"] = position.session
        turn = (owner, position.session, answer["question"], answer["answer"], answer, position.seen, job.found)
        answer["turn"] = await run_in_threadpool(self.conversations.append, *turn)
        return answer


def handler_of(request: Request) -> RequestHandler:
    """The handler of an app."""
    handler: RequestHandler = request.app.state.handler
    return handler


def owner_of(request: Request) -> str:
    """The owner of the key in a request."""
    return str(getattr(request.state, "owner", None) or "anyone")


def scope_of(within: Within | None) -> Scope:
    """The search filter that a body describes."""
    given = within.model_dump(by_alias=True, exclude_none=True) if within else {}
    names = {name: tuple(values) for name, values in given.items() if isinstance(values, list)}
    chosen = within.range if within else None
    return Scope(**names, metadata=given.get("metadata"), range=Span(**chosen.model_dump()) if chosen else None)
