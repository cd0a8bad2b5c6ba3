"""Whether the server runs, and whether it can answer."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.desk import desk_of, sent

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Response:
    """The process runs."""
    return sent({"status": "ok"}, {})


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Bundles are open and the database of sessions can be read; 503 otherwise."""
    desk = desk_of(request)
    await run_in_threadpool(desk.conversations.ready)
    models = [{"model": model.name, "bundle": model.bundle.digest} for model in desk.served.models]
    return sent({"status": "ok", "models": models}, {})
