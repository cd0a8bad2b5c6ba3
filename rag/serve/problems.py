"""Errors as problems (RFC 9457), and in the form of OpenAI's API under /v1/."""

import math
import re
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Message, Scope, Send

from rag.core.errors import ConfigError, DataError, MissingExtraError, RefusalError, ServiceError, StoreError, UserError
from rag.core.redaction import without_secrets
from rag.serve.database import MissingError
from rag.serve.response_models import OpenAiProblem, Problem
from rag.serve.responses import event, json_bytes

MEDIA = "application/problem+json"
OPENAI = "/v1/"
OPERATOR_ERRORS = (ConfigError, DataError, MissingExtraError, StoreError)
"""Errors that the operator of the server can fix, and a client cannot."""

WORDS = re.compile(r"(answered \d{3}|refused to answer|broke its reply off|cannot be (?:read|reached)|\w+Error): .*", re.DOTALL)


class UpstreamError(ServiceError):
    """The endpoint of a model does not answer."""


def own_words(text: str) -> str:
    """A problem of a model's server without the words of the server, which may hold its address and what it was asked."""
    return WORDS.sub(r"\1", text)


def status_of(error: UserError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, MissingError):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, RefusalError):
        return HTTPStatus.UNPROCESSABLE_ENTITY
    if isinstance(error, UpstreamError) and error.wait is None:
        return HTTPStatus.BAD_GATEWAY
    if isinstance(error, OPERATOR_ERRORS):
        return HTTPStatus.INTERNAL_SERVER_ERROR
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, ServiceError) else HTTPStatus.UNPROCESSABLE_ENTITY


def problem(status: int, detail: str, remedy: str) -> Problem:
    """A problem; values in `detail` that look like keys or passwords are hidden."""
    title = HTTPStatus(status).phrase
    kind = "urn:assay:" + title.lower().replace(" ", "-")
    return {"type": kind, "title": title, "status": int(status), "detail": without_secrets(detail), "remedy": remedy}


def problem_of(error: Exception) -> Problem:
    """The problem of an error. The message of an unexpected error may hold texts, so only its class is named."""
    if isinstance(error, UserError):
        return problem(status_of(error), f"{error.where}: {error.what}", error.remedy)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__, "the server's log says more")


def openai_problem(found: Problem) -> OpenAiProblem:
    """A problem in the form of OpenAI's API."""
    kind = "invalid_request_error" if found["status"] < 500 else "server_error"
    code = found["type"].rpartition(":")[2].replace("-", "_")
    return {"error": {"message": f"{found['detail']} → {found['remedy']}", "type": kind, "param": None, "code": code}}


def problem_response(path: str, found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as the response of the API that a path belongs to."""
    if path.startswith(OPENAI):
        return Response(json_bytes(openai_problem(found)), found["status"], headers, "application/json")
    return Response(json_bytes(found), found["status"], headers, MEDIA)


def problem_event(path: str, found: Problem) -> bytes:
    """A problem as the last event of a stream, in the form of the API that a path belongs to."""
    return b"data: %s\n\n" % json_bytes(openai_problem(found)) if path.startswith(OPENAI) else event("error", found)


def add_error_handlers(app: FastAPI) -> None:
    """Answer errors of routes with problems."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # Names the fields and never repeats their values.
        fields = [f"{'.'.join(str(part) for part in wrong['loc'])}: {wrong['msg']}" for wrong in error.errors()]
        return problem_response(request.scope["path"], problem(422, "; ".join(fields)[:1000], "see /openapi.json"))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        found = problem(error.status_code, str(error.detail), "see /openapi.json")
        return problem_response(request.scope["path"], found, error.headers)

    @app.exception_handler(UserError)
    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        wait = getattr(error, "wait", None)
        headers = None if wait is None else {"retry-after": str(math.ceil(wait))}
        return problem_response(request.scope["path"], problem_of(error), headers)


class ResponseState:
    """Passes messages on; knows whether the response has begun, whether it is a stream of events, and whether it has ended."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.begun = self.events = self.ended = False

    async def __call__(self, message: Message) -> None:
        """Send a message."""
        if message["type"] == "http.response.start":
            self.begun = True
            kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
            self.events = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif message["type"] == "http.response.body":
            self.ended = not message.get("more_body", False)
        await self.send(message)


async def refuse(
    scope: Scope, send: Send, status: int, detail: str, remedy: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with a problem instead of calling the route."""

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    await problem_response(scope["path"], problem(status, detail, remedy), headers)(scope, nothing, send)


async def end_with_problem(
    scope: Scope, reply: ResponseState, status: int, detail: str, remedy: str, headers: Mapping[str, str] | None = None
) -> None:
    """End a response that cannot be completed with a problem; a stream of events that has begun gets one more event.

    Any other response that has begun is left without its end, so that the client notices the break.
    """
    if not reply.begun:
        await refuse(scope, reply, status, detail, remedy, headers)
    elif reply.events and not reply.ended:
        body = problem_event(scope["path"], problem(status, detail, remedy))
        await reply({"type": "http.response.body", "body": body, "more_body": False})
