"""The page that reviews a golden set: a server on 127.0.0.1 for one person, with a key that lives as long as it."""

from contextlib import closing
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from rag.authoring.review.review_loop import Review
from rag.core.errors import UserError
from rag.reporting.terminal.output import print_line
from rag.serve.keys import Keys, hashed, new_key
from rag.serve.middleware import LoopbackOnly, add_middleware
from rag.serve.page import routes_of, shipped
from rag.serve.problems import add_error_handlers, problem, problem_response
from rag.serve.process import address, bound, run_app, signals_end_in_order
from rag.serve.responses import json_response
from rag.serve.settings import Settings

LISTED = 100
"""Questions in one part of the list."""


class Decision(BaseModel):
    """The decision about one question: with `drop` it is removed, with `row` accepted as edited, else accepted unchanged."""

    name: str
    drop: bool = False
    row: dict[str, Any] | None = None


def serve(review: Review, name: str, port: int) -> None:
    """Serve the page until SIGTERM or Ctrl-C, and print its address. ConfigError if the port is taken."""
    key = new_key()
    settings = Settings(port=port, keys=Keys((("reviewer", hashed(key)),)), rate=0)
    with signals_end_in_order(), closing(bound(settings)) as listening:
        line = f"Review {name} at {address(listening)}/#key={key}"
        run_app(create_app(review, name, settings), settings, listening, lambda: print_line(line))


def create_app(review: Review, name: str, settings: Settings) -> FastAPI:
    """The page and its routes. Every route but the page itself needs the key, and every request a local host and origin."""
    app = FastAPI(title="Assay", docs_url=None, redoc_url=None, openapi_url=None)
    add_error_handlers(app)
    app.include_router(routes_of({**shipped(), **shipped("rag.serve.review")}, "review.html"))
    _add_routes(app, review, name)
    add_middleware(app, settings)
    app.add_middleware(LoopbackOnly, origins=())

    @app.exception_handler(UserError)
    async def refused(request: Request, error: UserError) -> Response:
        return problem_response(request.scope["path"], problem(422, f"{error.where}: {error.what}", error.remedy))

    return app


def _add_routes(app: FastAPI, review: Review, dataset: str) -> None:
    alone = Lock()

    @app.get("/items")
    def items(start: int = 0, find: str = "") -> Response:
        with alone:
            return json_response({"dataset": dataset, **_listed(review, max(0, start), find.casefold())})

    @app.get("/item")
    def item(name: str) -> Response:
        with alone:
            return json_response(review.look(name))

    @app.post("/decide")
    def decide(decision: Decision) -> Response:
        with alone:
            review.drop(decision.name) if decision.drop else review.accept(decision.name, decision.row)
            return json_response({"waiting": len(review.waiting)})

    @app.post("/undo")
    def undo() -> Response:
        with alone:
            return json_response({"name": review.undo()})


def _listed(review: Review, start: int, wanted: str) -> dict[str, Any]:
    """A part of the list of what waits, restricted to questions with the words `wanted`, and the counts."""
    review.refresh()
    rows = [
        {"name": name, "text": str(each.row.get("text", "")), "kind": str(each.row.get("kind", "")), "method": each.method}
        for name, each in review.waiting.items()
    ]
    found = [row for row in rows if wanted in " ".join(row.values()).casefold()]
    counts = {"waiting": len(rows), "accepted": len(review.accepted), "dropped": len(review.dropped)}
    return counts | {"undoable": review.undoable, "found": len(found), "start": start, "items": found[start : start + LISTED]}
