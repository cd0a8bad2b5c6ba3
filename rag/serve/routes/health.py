"""Whether the server runs, and whether it can answer."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.request_handler import desk_of, sent
from rag.serve.response_models import Health, Problem

router = APIRouter(tags=["health"])


@router.get("/healthz", responses={200: {"model": Health}})
async def healthz() -> Response:
    """The process runs."""
    return sent({"status": "ok"}, {})


@router.get("/readyz", responses={200: {"model": Health}, 503: {"model": Problem}})
async def readyz(request: Request) -> Response:
    """Bundles are open and the database of sessions can be read; 503 otherwise."""
    desk = desk_of(request)
    await run_in_threadpool(desk.conversations.ready)
    models = [{"model": model.name, "bundle": model.bundle.digest} for model in desk.served.models]
    return sent({"status": "ok", "models": models}, {})
