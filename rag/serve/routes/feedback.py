"""What somebody thinks of an answer."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from rag.serve.openapi import promises
from rag.serve.request_handler import desk_of, owner_of
from rag.serve.request_models import Closed

router = APIRouter(tags=["feedback"])


class Rating(Closed):
    """A thumb up or down, and why."""

    answer: str = Field(description="The id of an answer of one's own, while its session lives.", examples=["ans_" + "0" * 24])
    rating: Literal[1, -1] = Field(description="1 for a good answer, -1 for a bad one.")
    comment: str = Field("", max_length=4000, description="What is good about it, or what it should have said.")


@router.post("/feedback", status_code=204, responses=promises(None))
async def rate(body: Rating, request: Request) -> Response:
    """Rate an answer; a second rating takes the place of the first. What is rated becomes a candidate for a golden question."""
    add = desk_of(request).opinions.add
    await run_in_threadpool(add, owner_of(request), body.answer, body.rating, body.comment)
    return Response(status_code=204)
