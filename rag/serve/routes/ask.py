"""An answer to one question."""

from fastapi import APIRouter, Request, Response

from rag.serve.description import promises
from rag.serve.desk import desk_of
from rag.serve.promised import Answer
from rag.serve.schemas import AskBody

router = APIRouter(tags=["questions"])


@router.post("/ask", responses=promises(Answer, streams=True))
async def ask(body: AskBody, request: Request) -> Response:
    """Answer a question with its sources."""
    desk = desk_of(request)
    return await desk.answer(request, body, await desk.take(body))
