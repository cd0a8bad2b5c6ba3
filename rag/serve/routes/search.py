"""Passages for a question."""

from fastapi import APIRouter, Request, Response

from rag.serve.description import promises
from rag.serve.desk import desk_of, sent
from rag.serve.promised import Searched
from rag.serve.schemas import SearchBody

router = APIRouter(tags=["questions"])


@router.post("/search", responses=promises(Searched))
async def search(body: SearchBody, request: Request) -> Response:
    """Find passages, each with its rank and score after every step."""
    asking = await desk_of(request).take(body)
    return sent(asking.searched(body.k), asking.headers)
