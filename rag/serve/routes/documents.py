"""The documents that answers are taken from."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from rag.corpus import Corpus
from rag.serve.database import MissingError
from rag.serve.description import promises
from rag.serve.desk import desk_of, sent
from rag.serve.promised import Documents, Text

router = APIRouter(tags=["documents"])
Model = Annotated[str | None, Query(description="One of GET /v1/models; left out for the first.")]


@router.get("/documents", responses=promises(Documents))
async def documents(
    request: Request,
    model: Model = None,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List documents by name: title, length, metadata and headings of each; `total` is how many there are."""
    served = desk_of(request).served.pick(model)
    corpus = served.bundle.pipeline.corpus
    rows = range(offset, min(offset + limit, len(corpus.documents)))
    told = {"model": served.name, "total": len(corpus.documents), "offset": offset}
    return sent(told | {"documents": [_listed(corpus, row) for row in rows]}, served.headers)


@router.get("/documents/{doc_id:path}", responses=promises(Text))
async def document(request: Request, doc_id: str, model: Model = None) -> Response:
    """The text of a document; places in it count Unicode code points."""
    served = desk_of(request).served.pick(model)
    corpus = served.bundle.pipeline.corpus
    row = corpus.place(doc_id)
    if row is None:
        raise MissingError("document", "there is none of that name", "GET /documents lists them")
    return sent(_listed(corpus, row) | {"text": corpus.documents[row].text}, served.headers)


def _listed(corpus: Corpus, row: int) -> dict[str, Any]:
    one = corpus.documents[row]
    sections = list(dict.fromkeys(title for _, _, title in corpus.outline(row) if title))
    told = {"id": one.doc_id, "title": str(one.metadata.get("title") or one.doc_id), "characters": len(one.text)}
    return told | {"metadata": dict(one.metadata), "sections": sections}
