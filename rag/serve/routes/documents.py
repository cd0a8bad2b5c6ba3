"""The documents of a bundle."""

from dataclasses import asdict
from json import JSONEncoder
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from rag.core.text.tokens import count
from rag.serve.database import MissingError
from rag.serve.loaded_bundles import Model
from rag.serve.openapi import responses_of
from rag.serve.request_handler import handler_of
from rag.serve.request_models import ClosedBody
from rag.serve.response_models import Documents, DocumentText, ListedDocument
from rag.serve.responses import json_response

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
    """List documents by name: title, length, pages, metadata, record and headings of each; `total` counts all."""
    model = handler_of(request).served.pick(page.model)
    listed_rows = model.rows
    rows = listed_rows[page.offset : page.offset + page.limit]

    def listing() -> Response:
        listed: Documents = {
            "model": model.name,
            "total": len(listed_rows),
            "offset": page.offset,
            "documents": [_listed(model, row) for row in rows],
        }
        return json_response(listed, model.headers)

    return await run_in_threadpool(listing)


@router.get("/documents/{doc_id:path}", responses=responses_of(DocumentText))
async def document(request: Request, doc_id: str, choice: Annotated[ModelChoice, Query()]) -> Response:
    """Return a document: text, records, pages and blocks, chunks, redactions, flags. Offsets count Unicode code points."""
    model = handler_of(request).served.pick(choice.model)
    corpus = model.bundle.pipeline.corpus
    row = corpus.place(doc_id)
    if row is None or doc_id in model.bundle.pipeline.excluded:
        raise MissingError("document", "there is none of that name", "GET /documents lists them")
    # Piece by piece, so that other threads and the event loop run in between; a document in a bundle has no NaN.
    body = await run_in_threadpool(lambda: "".join(JSONEncoder().iterencode(_whole(model, row))))
    return Response(body, headers=model.headers, media_type="application/json")


def _whole(model: Model, row: int) -> DocumentText:
    corpus, (documents, chunks) = model.bundle.pipeline.corpus, model.flaggers
    document, own = corpus.documents[row], range(len(corpus))[corpus.of_document(row)]
    blocks: list[Any] = [asdict(block) for block in document.blocks]
    places = [(int(corpus.start[at]), int(corpus.end[at]), corpus.text(at)) for at in own]
    return {
        **_listed(model, row),
        "flags": documents.flags(document.text),
        "redactions": [{"start": each.start, "end": each.end, "rule": each.rule} for each in document.redactions],
        "records": list(model.records.get(document.doc_id, ())),
        "blocks": blocks,
        "chunks": [
            {"start": start, "end": end, "tokens": count(text), "flags": chunks.flags(text)} for start, end, text in places
        ],
        "text": document.text,
    }


def _listed(model: Model, row: int) -> ListedDocument:
    corpus = model.bundle.pipeline.corpus
    document = corpus.documents[row]
    records = model.records.get(document.doc_id, ())
    return {
        "id": document.doc_id,
        "title": str(document.metadata.get("title") or document.doc_id),
        "characters": len(document.text),
        "pages": corpus.page_counts[row],
        "metadata": dict(document.metadata),
        "record": next((one["values"] for one in records if one["record"] == document.doc_id), {}),
        "sections": list(dict.fromkeys(title for _, _, title in corpus.outlines[row] if title)),
    }
