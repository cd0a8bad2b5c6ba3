"""A server of the small golden set, and a tiny app behind the same guards, for the tests of what stands before every route."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from support.small_set import write_golden

from rag.bundle.seal import seal
from rag.execution.sweep.open_config import config_of
from rag.serve import problems
from rag.serve.app import create_app
from rag.serve.connections import BoundedConnection
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.keys import Keys, hashed
from rag.serve.loaded_bundles import Served
from rag.serve.middleware import protect
from rag.serve.settings import Settings

QUESTION = "When does the ferry to Holm leave?"
# Made once: names of tests must be the same in every process.
ALICE, BOB = "sk-assay-PgFVDmCtkCOiXb2_rGLidxiCS32-FhqiGe490fWmg_o", "sk-assay-c49AqXYQg4ZLEHiJBj9wcanZqbt3qH1ewZheVkjIpXs"
TWO_KEYS = Keys.parsed(f"alice:{hashed(ALICE)},bob:{hashed(BOB)}")


def small_bundle(folder: Path, *overrides: str) -> Path:
    """A sealed bundle of the small golden set; `folder` is a new one that it is made in."""
    golden = write_golden(folder / "golden")
    fixed = [
        "dataset=native",
        f"dataset.path={golden}",
        "embedder=hashing",
        "embedder.dimensions=64",
        f"store={folder / 'store'}",
    ]
    seal(config_of([*fixed, *overrides]), folder / "bundle")
    return folder / "bundle"


def small_app(bundle: Path, database: Path, **settings: Any) -> FastAPI:
    """The whole application over a bundle."""
    chosen = Settings(**settings)
    conversations = Conversations(f"sqlite:///{database}", chosen.idle)
    return create_app(Served([bundle]), chosen, conversations, Opinions(conversations.database, chosen.idle))


@contextmanager
def listening(app: FastAPI, **more: Any) -> Iterator[str]:
    """A real server of an app on a port that was free; its address. `more` is for uvicorn's Config."""
    chosen = uvicorn.Config(app, port=0, http=BoundedConnection, log_config=None, access_log=False, **more)
    server = uvicorn.Server(chosen)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server does not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def bearer(key: str) -> dict[str, str]:
    """The header that brings a key."""
    return {"Authorization": f"Bearer {key}"}


def guarded(
    answer: Callable[[Request], Awaitable[Response]], now: Callable[[], float] | None = None, **settings: Any
) -> FastAPI:
    """An app that answers POST /ask and /v1/ask with `answer`, guarded as the real one is."""
    app = FastAPI()
    problems.install(app)
    for path in ("/ask", "/v1/ask"):
        app.add_api_route(path, _route(answer), methods=["POST"])
    app.add_api_route("/healthz", lambda: {"status": "ok"})
    protect(app, Settings(**settings), *([now] if now else []))
    return app


def _route(answer: Callable[[Request], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    async def route(request: Request) -> Response:
        return await answer(request)

    return route


async def echo(request: Request) -> Response:
    """The owner, and how many bytes were sent."""
    return Response(f"{request.state.owner} {len(await request.body())}")


def stream_of(pieces: Callable[[], AsyncIterator[bytes]]) -> Callable[[Request], Awaitable[Response]]:
    """An answer in events."""

    async def answer(request: Request) -> Response:
        return StreamingResponse(pieces(), media_type="text/event-stream")

    return answer


def talk(app: FastAPI, work: Callable[[httpx.AsyncClient], Awaitable[Any]], base: str = "http://127.0.0.1") -> Any:
    """Run `work` with a client of an app, without a socket."""

    async def talking() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client:
            return await asyncio.wait_for(work(client), 60)

    return asyncio.run(talking())


def ask(app: FastAPI, path: str = "/ask", method: str = "POST", base: str = "http://127.0.0.1", **sent: Any) -> httpx.Response:
    """One request to an app."""
    return talk(app, lambda client: client.request(method, path, **sent), base)
