"""The documents of a bundle."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from rag.core.corpus import Corpus
from rag.serve.database import MissingError
from rag.serve.openapi import responses_of
from rag.serve.request_handler import handler_of
from rag.serve.request_models import ClosedBody
from rag.serve.response_models import Documents, DocumentText, ListedDocument
from rag.serve.responses import json_bytes, json_response

PIECE = 65_536
"""Characters of a text that are written as JSON at once, in about two milliseconds."""

router = APIRouter(tags=["documents"])


class ModelChoice(ClosedBody):
    """The model whose documents are meant; an unknown parameter is refused as a typing error."""

    model: str | None = Field(None, description="One of GET /v1/models; left out for the first.")


class Page(ModelChoice):
    """A page of a list."""

    offset: int = Field(0, ge=0, le=2**31)
    limit: int = Field(100, ge=1, le=1000)


@router.get("/documents", responses=responses_of(Documents))
async def documents(request: Request, page: Annotated[Page, Query()]) -> Response:
    """List documents by name: title, length, metadata and headings of each; `total` counts all."""
    model = handler_of(request).served.pick(page.model)
    corpus = model.bundle.pipeline.corpus
    rows = range(page.offset, min(page.offset + page.limit, len(corpus.documents)))

    def listing() -> Response:
        listed: Documents = {
            "model": model.name,
            "total": len(corpus.documents),
            "offset": page.offset,
            "documents": [_listed(corpus, row) for row in rows],
        }
        return json_response(listed, model.headers)

    return await run_in_threadpool(listing)


@router.get("/documents/{doc_id:path}", responses=responses_of(DocumentText))
async def document(request: Request, doc_id: str, choice: Annotated[ModelChoice, Query()]) -> Response:
    """Return the text of a document; offsets count Unicode code points."""
    model = handler_of(request).served.pick(choice.model)
    corpus = model.bundle.pipeline.corpus
    row = corpus.place(doc_id)
    if row is None:
        raise MissingError("document", "there is none of that name", "GET /documents lists them")
    body = await run_in_threadpool(lambda: _with_text(_listed(corpus, row), corpus.documents[row].text))
    return Response(body, headers=model.headers, media_type="application/json")


def _with_text(listed: ListedDocument, text: str) -> bytes:
    """A document as JSON. The text is encoded in pieces, so that other threads and the event loop run in between."""
    pieces = (json_bytes(text[start : start + PIECE])[1:-1] for start in range(0, len(text), PIECE))
    return b"".join([json_bytes(listed)[:-1], b',"text":"', *pieces, b'"}'])


def _listed(corpus: Corpus, row: int) -> ListedDocument:
    document = corpus.documents[row]
    return {
        "id": document.doc_id,
        "title": str(document.metadata.get("title") or document.doc_id),
        "characters": len(document.text),
        "metadata": dict(document.metadata),
        "sections": list(dict.fromkeys(title for _, _, title in corpus.outline(row) if title)),
    }
