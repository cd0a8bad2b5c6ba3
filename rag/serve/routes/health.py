"""Liveness and readiness."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from rag.serve.request_handler import handler_of
from rag.serve.response_models import Health, Problem
from rag.serve.responses import json_response

router = APIRouter(tags=["health"])


@router.get("/healthz", responses={200: {"model": Health}})
async def healthz() -> Response:
    """The process runs."""
    return json_response({"status": "ok"})


@router.get("/readyz", responses={200: {"model": Health}, 503: {"model": Problem}})
async def readyz(request: Request) -> Response:
    """Bundles are open and the database of sessions can be read; 503 otherwise."""
    handler = handler_of(request)
    await run_in_threadpool(handler.conversations.ready)
    opened = [(model.name, model.bundle) for model in handler.served.models]
    models = [{"model": name, "bundle": bundle.digest, "stand_ins": bundle.stand_ins} for name, bundle in opened]
    return json_response({"status": "ok", "models": models})
