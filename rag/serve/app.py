"""The web application: routes around a request handler, with middleware before them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from rag import __version__
from rag.core.errors import ServiceError
from rag.serve import page
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.loaded_bundles import Served, reloading
from rag.serve.middleware import add_middleware
from rag.serve.openapi import complete_description
from rag.serve.problems import add_error_handlers
from rag.serve.request_handler import RequestHandler, handler_of
from rag.serve.response_models import Health, Problem
from rag.serve.responses import json_response
from rag.serve.routes import documents, openai, questions
from rag.serve.settings import Settings

LOG = logging.getLogger("rag.serve")
THREADS_PER_REQUEST = 4
router = APIRouter(tags=["health"])


@router.get("/healthz", responses={200: {"model": Health}})
async def healthz() -> Response:
    """The process runs."""
    return json_response({"status": "ok"})


@router.get("/readyz", responses={200: {"model": Health}, 503: {"model": Problem}})
async def readyz(request: Request) -> Response:
    """Bundles are open and the database of sessions can be read; 503 otherwise."""
    handler = handler_of(request)
    await run_in_threadpool(handler.conversations.database.ready)
    opened = [(model.name, model.bundle) for model in handler.served.models]
    models = [{"model": name, "bundle": bundle.digest, "stand_ins": bundle.stand_ins} for name, bundle in opened]
    return json_response({"status": "ok", "models": models})


def create_app(served: Served, settings: Settings, conversations: Conversations, opinions: Opinions) -> FastAPI:
    """An app that answers from loaded bundles."""
    # The thread of a request whose client has disconnected waits for its model, and must not be missing for later requests.
    pool = ThreadPoolExecutor(THREADS_PER_REQUEST * settings.workers, "answer")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        purge = asyncio.create_task(purge_regularly(conversations))
        async with reloading(served):
            yield
        purge.cancel()
        pool.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="Assay",
        description="Answers from sealed bundles: what was measured is what is served.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.handler = RequestHandler(served, settings, conversations, opinions, pool)
    add_error_handlers(app)
    complete_description(app)
    for routes in (questions.router, openai.router, documents.router, router, page.router):
        app.include_router(routes)
    add_middleware(app, settings, bundle=lambda: served.models[0].bundle.digest)
    return app


async def purge_regularly(conversations: Conversations, every: float = 60) -> None:
    """Remove expired sessions every so many seconds until cancelled; if the database fails, try again the next time.

    Several servers can do so on one database.
    """
    while True:
        try:
            removed = await run_in_threadpool(conversations.purge)
            LOG.debug("removed %d expired sessions", removed)
        except ServiceError as error:
            LOG.warning("expired sessions were not removed: %s", error.what)
        await asyncio.sleep(every)
