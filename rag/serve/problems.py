"""What went wrong, as RFC 9457 has it, and as OpenAI's clients read it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from rag.core.errors import ConfigError, DataError, MissingExtraError, RefusalError, ServiceError, StoreError, UserError
from rag.core.redaction import HIDDEN, SECRET_VALUE
from rag.serve.database import MissingError
from rag.serve.json_output import written

MEDIA = "application/problem+json"
OPENAI = "/v1/"
OURS = (ConfigError, DataError, MissingExtraError, StoreError)
"""Errors that whoever runs the server can act on, and who asks cannot."""


class UpstreamError(ServiceError):
    """The model behind the generator, or one behind another step, does not answer."""


def status_of(error: UserError) -> int:
    """The HTTP status of an error that somebody can act on."""
    if isinstance(error, MissingError):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, RefusalError):
        return HTTPStatus.UNPROCESSABLE_ENTITY
    if isinstance(error, UpstreamError):
        return HTTPStatus.BAD_GATEWAY
    if isinstance(error, OURS):
        return HTTPStatus.INTERNAL_SERVER_ERROR
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, ServiceError) else HTTPStatus.UNPROCESSABLE_ENTITY


def problem(status: int, detail: str, remedy: str) -> dict[str, Any]:
    """The members of a problem; what looks like a key or a password is not told."""
    detail = SECRET_VALUE.sub(HIDDEN, detail)
    title = HTTPStatus(status).phrase
    kind = "urn:assay:" + title.lower().replace(" ", "-")
    return {"type": kind, "title": title, "status": int(status), "detail": detail, "remedy": remedy}


def problem_from(error: UserError) -> dict[str, Any]:
    """A problem from an error."""
    return problem(status_of(error), f"{error.where}: {error.what}", error.remedy)


def failure(error: Exception) -> dict[str, Any]:
    """A problem of our own; what an error says may be a text, and stays here."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__, "the server's log says more")


def respond(request: Request, found: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """A problem as a response, worded for who asked."""
    if not request.url.path.startswith(OPENAI):
        return Response(written(found), found["status"], dict(headers or {}), MEDIA)
    return Response(written(openai(found)), found["status"], dict(headers or {}), "application/json")


def openai(found: Mapping[str, Any]) -> dict[str, Any]:
    """A problem as OpenAI's API words it."""
    kind = "invalid_request_error" if found["status"] < 500 else "server_error"
    code = found["type"].rpartition(":")[2].replace("-", "_")
    return {"error": {"message": f"{found['detail']} → {found['remedy']}", "type": kind, "param": None, "code": code}}


def install(app: FastAPI) -> None:
    """Have an app answer errors with problems."""

    @app.exception_handler(UserError)
    async def user(request: Request, error: UserError) -> Response:
        return respond(request, problem_from(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return respond(request, problem(422, _wrong(error), "see /openapi.json"))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return respond(request, problem(error.status_code, str(error.detail), "see /openapi.json"), error.headers)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return respond(request, failure(error))


def _wrong(error: RequestValidationError) -> str:
    """Which fields, and why; what stood in them is not repeated."""
    said = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    return "; ".join(said)[:1000]
