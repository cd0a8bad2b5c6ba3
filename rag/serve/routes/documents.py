"""The documents that answers are taken from."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from rag.core.corpus import Corpus
from rag.serve.database import MissingError
from rag.serve.json_output import written
from rag.serve.openapi import promises
from rag.serve.request_handler import desk_of, sent
from rag.serve.request_models import Closed
from rag.serve.response_models import Documents, Text

PIECE = 65_536
"""Characters of a text that are written as JSON at once, in about two milliseconds."""

router = APIRouter(tags=["documents"])


class Which(Closed):
    """Whose documents; an unknown parameter is refused, for it is misspelt."""

    model: str | None = Field(None, description="One of GET /v1/models; left out for the first.")


class Listing(Which):
    """Which part of a list."""

    offset: int = Field(0, ge=0, le=2**31)
    limit: int = Field(100, ge=1, le=1000)


@router.get("/documents", responses=promises(Documents))
async def documents(request: Request, asked: Annotated[Listing, Query()]) -> Response:
    """List documents by name: title, length, metadata and headings of each; `total` is how many there are."""
    served = desk_of(request).served.pick(asked.model)
    corpus = served.bundle.pipeline.corpus
    rows = range(asked.offset, min(asked.offset + asked.limit, len(corpus.documents)))
    told = {"model": served.name, "total": len(corpus.documents), "offset": asked.offset}

    def listing() -> Response:
        return sent(told | {"documents": [_listed(corpus, row) for row in rows]}, served.headers)

    return await run_in_threadpool(listing)


@router.get("/documents/{doc_id:path}", responses=promises(Text))
async def document(request: Request, doc_id: str, asked: Annotated[Which, Query()]) -> Response:
    """The text of a document; places in it count Unicode code points."""
    served = desk_of(request).served.pick(asked.model)
    corpus = served.bundle.pipeline.corpus
    row = corpus.place(doc_id)
    if row is None:
        raise MissingError("document", "there is none of that name", "GET /documents lists them")
    body = await run_in_threadpool(lambda: _told(_listed(corpus, row), corpus.documents[row].text))
    return Response(body, headers=served.headers, media_type="application/json")


def _told(listed: dict[str, Any], text: str) -> bytes:
    """A document as JSON, its text written piece by piece: between two of them other threads, and so the event loop, go on."""
    pieces = (written(text[start : start + PIECE])[1:-1] for start in range(0, len(text), PIECE))
    return b"".join([written(listed)[:-1], b',"text":"', *pieces, b'"}'])


def _listed(corpus: Corpus, row: int) -> dict[str, Any]:
    one = corpus.documents[row]
    sections = list(dict.fromkeys(title for _, _, title in corpus.outlines[row] if title))
    told = {"id": one.doc_id, "title": str(one.metadata.get("title") or one.doc_id), "characters": len(one.text)}
    return told | {"metadata": dict(one.metadata), "sections": sections}
