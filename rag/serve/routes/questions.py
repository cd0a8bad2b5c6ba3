"""Searches, answers, conversations, and ratings of answers."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from rag.serve.conversations import StoredTurn
from rag.serve.openapi import responses_of
from rag.serve.request_handler import SessionPosition, handler_of, owner_of
from rag.serve.request_models import AskBody, ChatBody, ClosedBody, SearchBody
from rag.serve.response_models import Answer, Searched, Session
from rag.serve.responses import json_response

TURNS = 100
"""Earlier turns of a session that a question can use; memories read far fewer."""

router = APIRouter()


@router.post("/search", tags=["questions"], responses=responses_of(Searched))
async def search(body: SearchBody, request: Request) -> Response:
    """Find passages, each with its rank and score after every step."""
    job = await handler_of(request).search(body, answers=False)
    return json_response(job.search_json(body.k), job.model.headers)


@router.post("/ask", tags=["questions"], responses=responses_of(Answer, streams=True))
async def ask(body: AskBody, request: Request) -> Response:
    """Answer a question with its sources."""
    handler = handler_of(request)
    return await handler.answer(request, body, await handler.search(body))


@router.post("/chat", tags=["questions"], responses=responses_of(Answer, streams=True))
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


@router.get("/sessions/{session}", tags=["sessions"], responses=responses_of(Session))
async def show(session: str, request: Request) -> Response:
    """Return a conversation with its answers; this does not prolong it."""
    shown = await run_in_threadpool(handler_of(request).conversations.show, owner_of(request), session)
    turns = [{**turn.payload, "turn": turn.number, "at": turn.at} for turn in shown.turns]
    return json_response({"session": shown.session, "created": shown.created, "expires": shown.expires, "turns": turns})


@router.delete("/sessions/{session}", tags=["sessions"], status_code=204, responses=responses_of(None))
async def forget(session: str, request: Request) -> Response:
    """Delete a conversation. Ratings of its answers stay."""
    await run_in_threadpool(handler_of(request).conversations.forget, owner_of(request), session)
    return Response(status_code=204)


class Rating(ClosedBody):
    """A thumb up or down, and a comment."""

    answer: str = Field(description="The id of your own answer, while its session lives.", examples=["ans_" + "0" * 24])
    rating: Literal[1, -1] = Field(description="1 for a good answer, -1 for a bad one.")
    comment: str = Field("", max_length=4000, description="What is good about it, or what it should have said.")


@router.post("/feedback", tags=["feedback"], status_code=204, responses=responses_of(None))
async def rate(body: Rating, request: Request) -> Response:
    """Rate an answer; a second rating replaces the first. Rated answers become candidates for golden questions."""
    add = handler_of(request).opinions.add
    await run_in_threadpool(add, owner_of(request), body.answer, body.rating, body.comment)
    return Response(status_code=204)
