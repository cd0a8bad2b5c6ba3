"""The description of the API: OpenAPI with what can go wrong, and which key opens it."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from rag.serve.error_responses import HEALTH
from rag.serve.problems import MEDIA, OPENAI
from rag.serve.response_models import Problem
from rag.serve.response_models_openai import OpenAiProblem

Responses = dict[int | str, dict[str, Any]]

WRONG: Mapping[int, str] = {
    400: "The body cannot be read: it is no UTF-8.",
    401: "No key, or one that is not known here.",
    403: "A page of another origin asks, and there are no keys.",
    404: "There is no such thing, or it is somebody else's.",
    413: "The body is too large.",
    421: "Without keys this server has no public name.",
    422: "The request is not understood, or a model refuses it for good.",
    429: "This key asks too often; Retry-After says when to come again.",
    500: "The server failed.",
    502: "The model behind the answer cannot be used; /search may still work.",
    503: "Busy, or the database cannot be used.",
    504: "It took too long.",
}
EVENTS = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One event; the data of each is JSON, but for OpenAI's last, which is [DONE].",
            "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
            "required": ["data"],
        },
        "example": 'event: passages\ndata: […]\n\nevent: piece\ndata: {"text": "28 days"}\n\nevent: answer\ndata: {…}\n\n',
    }
}
"""What streams look like."""


def promises(told: type[BaseModel] | None, *, streams: bool = False, problem: type[BaseModel] = Problem) -> Responses:
    """The responses of a route."""
    good: Responses = {200: {"model": told, "content": EVENTS} if streams else {"model": told}} if told else {}
    return good | {status: {"model": problem, "description": said} for status, said in WRONG.items()}


def openai_promises(told: type[BaseModel], *, streams: bool = False) -> Responses:
    """The responses of a route of OpenAI's API."""
    return promises(told, streams=streams, problem=OpenAiProblem)


def describe(app: FastAPI) -> None:
    """Say in an app's description in which media type problems come, and that a key is needed."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_keys(plain())
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _with_keys(schema: dict[str, Any]) -> dict[str, Any]:
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["security"] = [{}] if path in HEALTH else [{"key": []}]
            if not path.startswith(OPENAI):
                _rename(operation["responses"])
    return schema


def _rename(responses: dict[str, Any]) -> None:
    """Problems have a media type of their own."""
    for status, response in responses.items():
        content = response.get("content", {})
        if status >= "4" and "application/json" in content:
            response["content"] = {MEDIA: content["application/json"]}
