"""Passages for a question."""

from fastapi import APIRouter, Request, Response

from rag.serve.openapi import promises
from rag.serve.request_handler import desk_of, sent
from rag.serve.request_models import SearchBody
from rag.serve.response_models import Searched

router = APIRouter(tags=["questions"])


@router.post("/search", responses=promises(Searched))
async def search(body: SearchBody, request: Request) -> Response:
    """Find passages, each with its rank and score after every step."""
    asking = await desk_of(request).take(body)
    return sent(asking.searched(body.k), asking.headers)
