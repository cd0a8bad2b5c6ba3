"""Searches, answers, and answers within a conversation."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.conversations import StoredTurn
from rag.serve.openapi import responses_of
from rag.serve.request_handler import SessionPosition, handler_of, owner_of
from rag.serve.request_models import AskBody, ChatBody, SearchBody
from rag.serve.response_models import Answer, Searched
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


@router.post("/chat", responses=responses_of(Answer, streams=True))
async def chat(body: ChatBody, request: Request) -> Response:
    """Answer a question of a conversation, and store both."""
    handler, owner = handler_of(request), owner_of(request)
    session, turns = body.session, list[StoredTurn]()
    if session is None and not body.preview:
        session = await run_in_threadpool(handler.conversations.create, owner)
    elif session is not None:
        turns = await run_in_threadpool(handler.conversations.turns, owner, session, TURNS)
    history = [message for turn in turns for message in turn.messages]
    position = SessionPosition(session, turns[-1].number if turns else 0) if session else None
    return await handler.answer(request, body, await handler.search(body, history, turns), position)
