"""The OpenAPI description: responses of every route, their errors, and the key."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from rag.serve.problems import MEDIA, OPENAI
from rag.serve.response_models import Problem

Responses = dict[int | str, dict[str, Any]]

HEALTH = ("/healthz", "/readyz")
ERRORS: Mapping[int, str] = {
    400: "The body is not valid UTF-8.",
    401: "The key is missing or not known.",
    403: "The request comes from a page of another origin, and there are no keys.",
    404: "The resource does not exist, or belongs to another owner.",
    413: "The body is too large.",
    421: "A server without keys has no public name.",
    422: "The request is not valid, or a model refuses it for good.",
    429: "Too many requests with this key; see Retry-After.",
    500: "The server failed.",
    502: "The endpoint of a model failed; /search may still work.",
    503: "The server is busy, or the database cannot be used.",
    504: "The request took too long.",
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
"""The content of a stream."""


def responses_of(body: Any, *, streams: bool = False, problem: Any = Problem) -> Responses:
    """The responses of a route: a `body` (None for none), which may be streamed instead, or a problem."""
    good: Responses = {200: {"model": body, **({"content": EVENTS} if streams else {})}} if body else {}
    return good | {status: {"model": problem, "description": text} for status, text in ERRORS.items()}


def complete_description(app: FastAPI) -> None:
    """Add to the description of an app the media type of problems, the key, and that objects have no other members."""
    generate = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(generate())
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _completed(schema: dict[str, Any]) -> dict[str, Any]:
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for component in schema["components"]["schemas"].values():
        if component.get("type") == "object":
            component.setdefault("additionalProperties", False)
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["security"] = [{}] if path in HEALTH else [{"key": []}]
            if not path.startswith(OPENAI):
                _use_problem_media(operation["responses"])
    return schema


def _use_problem_media(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        content = response.get("content", {})
        if status >= "4" and "application/json" in content:
            response["content"] = {MEDIA: content["application/json"]}
