"""The page of the server: files of this package, held in memory, that load nothing from other hosts."""

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
"""The path of scripts and styles; they hold no data and need no key."""


@dataclass(frozen=True)
class Shipped:
    """A file of the page. Browsers cache it, and check `tag` at every use."""

    content: bytes
    kind: str
    tag: str


@cache
def shipped(package: str = "rag.serve.page") -> Mapping[str, Shipped]:
    """The files of a page by name. Its HTML names all scripts, so that a browser fetches them at once."""
    files, items = {}, sorted(resources.files(package).iterdir(), key=lambda item: item.name)
    scripts = [f'<link rel="modulepreload" href="page/{item.name}">' for item in items if item.name.endswith(".js")]
    for item in items:
        kind = KINDS.get("." + item.name.rpartition(".")[2])
        if kind:
            content = item.read_bytes().replace(b"</head>", "".join((*scripts, "</head>")).encode())
            files[item.name] = Shipped(content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return files


def routes_of(files: Mapping[str, Shipped], index: str) -> APIRouter:
    """The routes of a page and of its styles, scripts and icons; 404 for any other name."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def page(request: Request) -> Response:
        return _response(files[index], request)

    @routes.get(FOLDER + "{name}")
    def part(name: str, request: Request) -> Response:
        if name not in files:
            raise HTTPException(404, "the page has no such file")
        return _response(files[name], request)

    return routes


def _response(file: Shipped, request: Request) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)


router = routes_of(shipped(), "index.html")
