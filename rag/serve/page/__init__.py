"""The page to ask with: files of this package, held in memory, that load nothing from anywhere else."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from fastapi import APIRouter, HTTPException, Request, Response

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOLDER = "/page/"
"""Where everything but the page itself lies; none of it holds data, so no key is asked for."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Shipped:
    """A file of the page. Browsers keep it, and ask each time whether `tag` is still its own."""

    content: bytes
    kind: str
    tag: str


@cache
def shipped() -> Mapping[str, Shipped]:
    """The files of the page by name."""
    found = {}
    for item in resources.files("rag.serve.page").iterdir():
        kind = KINDS.get("." + item.name.rpartition(".")[2])
        if kind:
            content = item.read_bytes()
            found[item.name] = Shipped(content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return found


@router.get("/")
def page(request: Request) -> Response:
    """The page."""
    return _sent(shipped()["index.html"], request)


@router.get(FOLDER + "{name}")
def part(name: str, request: Request) -> Response:
    """A style, a script or the icons; 404 for anything that is no file of the page."""
    found = shipped().get(name)
    if found is None:
        raise HTTPException(404, "the page has no such file")
    return _sent(found, request)


def _sent(file: Shipped, request: Request) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
