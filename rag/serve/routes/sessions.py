"""Stored conversations, and ratings of answers."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from rag.serve.openapi import responses_of
from rag.serve.request_handler import handler_of, owner_of
from rag.serve.request_models import ClosedBody
from rag.serve.response_models import Session
from rag.serve.responses import json_response

router = APIRouter()


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
