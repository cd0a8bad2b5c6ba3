"""An answer to a question after what was said before."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.conversations import Kept
from rag.serve.openapi import promises
from rag.serve.request_handler import SessionPosition, desk_of, owner_of
from rag.serve.request_models import ChatBody
from rag.serve.response_models import Answer

TURNS = 100
"""Questions of a session that a later one can lean on; memories look at far fewer."""

router = APIRouter(tags=["questions"])


@router.post("/chat", responses=promises(Answer, streams=True))
async def chat(body: ChatBody, request: Request) -> Response:
    """Answer a question of a conversation, and remember both."""
    desk, owner = desk_of(request), owner_of(request)
    session, kept = body.session, list[Kept]()
    if session is None:
        session = await run_in_threadpool(desk.conversations.create, owner)
    else:
        kept = await run_in_threadpool(desk.conversations.turns, owner, session, TURNS)
    history = [turn for one in kept for turn in one.turns]
    return await desk.answer(
        request, body, await desk.take(body, history), SessionPosition(session, kept[-1].number if kept else 0)
    )
