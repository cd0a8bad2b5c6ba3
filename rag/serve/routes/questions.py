"""Searches, answers, and answers within a conversation."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.answer_job import AnswerJob
from rag.serve.conversations import StoredTurn
from rag.serve.openapi import responses_of
from rag.serve.request_handler import SessionPosition, handler_of, owner_of
from rag.serve.request_models import AskBody, ChatBody, SearchBody
from rag.serve.response_models import Answer, Composed, Searched
from rag.serve.responses import json_response

TURNS = 100
"""Earlier turns of a session that a question can use; memories read far fewer."""

router = APIRouter(tags=["questions"])


@router.post("/search", responses=responses_of(Searched))
async def search(body: SearchBody, request: Request) -> Response:
    """Find passages, each with its rank and score after every step."""
    job = await handler_of(request).search(body, answers=False)
    return json_response(job.search_json(body.k), job.model.headers)


@router.post("/ask", responses=responses_of(Answer, streams=True))
async def ask(body: AskBody, request: Request) -> Response:
    """Answer a question with its sources."""
    handler = handler_of(request)
    return await handler.answer(request, body, await handler.search(body))


@router.post("/prompt", responses=responses_of(Composed))
async def prompt(body: ChatBody, request: Request) -> Response:
    """Compose the prompt of a question, with its tokens and price; no model is asked for an answer, and nothing is stored."""
    job, _ = await _searched(body, request)
    return json_response(await run_in_threadpool(job.composed), job.model.headers)


@router.post("/chat", responses=responses_of(Answer, streams=True))
async def chat(body: ChatBody, request: Request) -> Response:
    """Answer a question of a conversation, and store both."""
    handler, session = handler_of(request), body.session
    if session is None:
        session = await run_in_threadpool(handler.conversations.create, owner_of(request))
    job, seen = await _searched(body, request)
    return await handler.answer(request, body, job, SessionPosition(session, seen))


async def _searched(body: ChatBody, request: Request) -> tuple[AnswerJob, int]:
    """Search for a question of a conversation; the number of the turn before it."""
    handler, turns = handler_of(request), list[StoredTurn]()
    if body.session is not None:
        turns = await run_in_threadpool(handler.conversations.turns, owner_of(request), body.session, TURNS)
    history = [message for turn in turns for message in turn.messages]
    return await handler.search(body, history, turns), turns[-1].number if turns else 0
