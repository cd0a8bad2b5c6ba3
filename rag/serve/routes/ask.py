"""An answer to one question."""

from fastapi import APIRouter, Request, Response

from rag.serve.openapi import promises
from rag.serve.request_handler import desk_of
from rag.serve.request_models import AskBody
from rag.serve.response_models import Answer

router = APIRouter(tags=["questions"])


@router.post("/ask", responses=promises(Answer, streams=True))
async def ask(body: AskBody, request: Request) -> Response:
    """Answer a question with its sources."""
    desk = desk_of(request)
    return await desk.answer(request, body, await desk.take(body))
