"""Answers of the guards: problems, before a route is reached or after it was broken off."""

from collections.abc import Mapping

from pydantic_core import to_json
from starlette.requests import Request
from starlette.types import Message, Scope, Send

from rag.serve.problems import OPENAI, openai, problem, respond

HEALTH = ("/healthz", "/readyz")
METRICS = "/metrics"
PAGE, PAGE_FOLDER = "/", "/page/"
"""The page and its files, which hold no data: it asks for a key itself."""


def is_open(scope: Scope) -> bool:
    """Whether a request needs no key: it asks how the server is, or for the page."""
    path, reads = scope["path"], scope["method"] in ("GET", "HEAD")
    return reads and (path in HEALTH or path == PAGE or path.startswith(PAGE_FOLDER))


async def refuse(
    scope: Scope, send: Send, status: int, detail: str, remedy: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with a problem instead of the route."""
    await respond(Request(scope), problem(status, detail, remedy), headers)(scope, nothing, send)


async def nothing() -> Message:
    """Nothing is read."""
    return {"type": "http.disconnect"}


class Begun:
    """A sender that knows whether a response has begun, whether it is a stream of events, and whether it has ended."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.begun = self.events = self.ended = False

    async def __call__(self, message: Message) -> None:
        """Send."""
        if message["type"] == "http.response.start":
            self.begun = True
            kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
            self.events = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif message["type"] == "http.response.body":
            self.ended = not message.get("more_body", False)
        await self.send(message)


async def give_up(
    scope: Scope, reply: Begun, status: int, detail: str, remedy: str, headers: Mapping[str, str] | None = None
) -> None:
    """End a response that cannot be finished: with a problem, in a stream of events with one more event.

    Of any other response that has begun the end stays away, and the client sees that it broke off.
    """
    if not reply.begun:
        await refuse(scope, reply, status, detail, remedy, headers)
    elif reply.events and not reply.ended:
        found = problem(status, detail, remedy)
        last = to_json(openai(found)) if scope["path"].startswith(OPENAI) else to_json(found)
        event = b"" if scope["path"].startswith(OPENAI) else b"event: error\n"
        await reply({"type": "http.response.body", "body": event + b"data: " + last + b"\n\n", "more_body": False})
