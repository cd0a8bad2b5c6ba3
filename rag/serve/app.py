"""The web application: routes around a desk, guards before them."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag import __version__
from rag.serve import page, problems
from rag.serve.conversations import Conversations
from rag.serve.expiry import purging
from rag.serve.feedback import Opinions
from rag.serve.hot_reload import switching
from rag.serve.loaded_bundles import Served
from rag.serve.middleware import protect
from rag.serve.openapi import describe
from rag.serve.request_handler import Desk
from rag.serve.routes import ask, chat, documents, feedback, health, openai, search, sessions
from rag.serve.settings import Settings

SPARE = 4
"""Threads for each request that may be at work."""


def create_app(served: Served, settings: Settings, conversations: Conversations, opinions: Opinions) -> FastAPI:
    """An app that answers from what is served."""
    # A thread that waits for a model stays with it when who asked has gone, and must not be missing to who comes next.
    pool = ThreadPoolExecutor(SPARE * settings.workers, "answer")

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        purge = asyncio.create_task(purging(conversations))
        async with switching(served):
            yield
        purge.cancel()
        pool.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="Assay",
        description="Answers from sealed bundles: what was measured is what is served.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=living,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.desk = Desk(served, settings, conversations, opinions, pool)
    problems.install(app)
    describe(app)
    for routes in (search, ask, chat, openai, documents, sessions, feedback, health):
        app.include_router(routes.router)
    app.include_router(page.router)
    protect(app, settings)
    app.add_middleware(Sealed, served=served)
    return app


class Sealed:
    """The hash of the bundle on every response: that of the default model where no other was asked."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self.app, self.served = app, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add the header where there is none."""

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("X-Assay-Bundle", self.served.models[0].bundle.digest)
            await send(message)

        await self.app(scope, receive, sealed)
