"""What was said in a session, and its end."""

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.conversations import Kept
from rag.serve.openapi import promises
from rag.serve.request_handler import desk_of, owner_of, sent
from rag.serve.response_models import Session

router = APIRouter(tags=["sessions"])


@router.get("/sessions/{session}", responses=promises(Session))
async def show(session: str, request: Request) -> Response:
    """A conversation as it went, its answers as they were given; looking does not prolong it."""
    shown = await run_in_threadpool(desk_of(request).conversations.show, owner_of(request), session)
    told = {"session": shown.session, "created": shown.created, "expires": shown.expires}
    return sent(told | {"turns": [_turn(one) for one in shown.turns]}, {})


@router.delete("/sessions/{session}", status_code=204, responses=promises(None))
async def forget(session: str, request: Request) -> Response:
    """End a conversation and remove what was said in it. Ratings that were given for its answers stay."""
    await run_in_threadpool(desk_of(request).conversations.forget, owner_of(request), session)
    return Response(status_code=204)


def _turn(kept: Kept) -> dict[str, Any]:
    return {**kept.told, "turn": kept.number, "at": kept.at}
