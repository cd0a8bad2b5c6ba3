"""A small bundle, its app, and a tiny app behind the same middleware, for tests without a socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from support.small_set import write_golden
from support.unmeasured_bundles import seal

from rag.execution.sweep.open_config import config_of
from rag.serve.app import create_app
from rag.serve.conversations import Conversations
from rag.serve.feedback import Opinions
from rag.serve.keys import Keys, hashed
from rag.serve.loaded_bundles import Served
from rag.serve.middleware import add_middleware
from rag.serve.problems import add_error_handlers
from rag.serve.settings import Settings

QUESTION = "When does the ferry to Holm leave?"
CONVERSING = ("generator=extractive", "queries=carry_over", "memory=buffer")
"""Components that read earlier turns."""
# Constants: parametrised tests must have the same names in every process.
ALICE, BOB = "sk-assay-PgFVDmCtkCOiXb2_rGLidxiCS32-FhqiGe490fWmg_o", "sk-assay-c49AqXYQg4ZLEHiJBj9wcanZqbt3qH1ewZheVkjIpXs"
TWO_KEYS = Keys.parsed(f"alice:{hashed(ALICE)},bob:{hashed(BOB)}")
CANARY = "Canary-Wombat-4711"
"""A word that must not appear in logs and metrics."""


def small_bundle(folder: Path, *overrides: str) -> Path:
    """A sealed bundle of the small golden set, made in a new folder."""
    golden = write_golden(folder / "golden")
    fixed = ["dataset=native", f"dataset.path={golden}", "embedder=hashing", "embedder.dimensions=64"]
    seal(config_of([*fixed, f"store={folder / 'store'}", *overrides]), folder / "bundle")
    return folder / "bundle"


def small_app(bundle: Path, database: Path, **settings: Any) -> FastAPI:
    """The whole application over a bundle."""
    chosen = Settings(**settings)
    conversations = Conversations(f"sqlite:///{database}", chosen.idle)
    return create_app(Served([bundle]), chosen, conversations, Opinions(conversations.database, chosen.idle))


def bearer(key: str) -> dict[str, str]:
    """The header with a key."""
    return {"Authorization": f"Bearer {key}"}


def chat_request(text: str, **more: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    return {"model": "default", "messages": [{"role": "user", "content": text}], **more}


class ManualClock:
    """A clock that a test sets."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def guarded(
    answer: Callable[[Request], Awaitable[Response]], now: Callable[[], float] | None = None, **settings: Any
) -> FastAPI:
    """An app that answers POST /ask and /v1/ask with `answer`, behind the middleware of the real one."""
    app = FastAPI()
    add_error_handlers(app)

    async def route(request: Request) -> Response:
        return await answer(request)

    for path in ("/ask", "/v1/ask"):
        app.add_api_route(path, route, methods=["POST"])
    app.add_api_route("/healthz", lambda: {"status": "ok"})
    add_middleware(app, Settings(**settings), *([now] if now else []))
    return app


async def echo(request: Request) -> Response:
    """The owner, and the number of bytes in the body."""
    return Response(f"{request.state.owner} {len(await request.body())}")


def stream_of(pieces: Callable[[], AsyncIterator[bytes]]) -> Callable[[Request], Awaitable[Response]]:
    """An answer as a stream of events."""

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
    """The response of an app to one request."""
    return talk(app, lambda client: client.request(method, path, **sent), base)
