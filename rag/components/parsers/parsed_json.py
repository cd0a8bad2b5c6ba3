"""JSON of document-parsing services → Markdown, with the places of blocks and cells on the pages; known by its keys."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from rag.components.parsers.refusals import refusal
from rag.components.parsers.service_json import SERVICES
from rag.components.parsers.service_places import Place, box_of, html_rows, page_of, score_of, text_of, within
from rag.core.types import BLOCKS, Parsed
from rag.documents.pages.markdown_text import MarkdownText

KINDS = {"card": "figure", "scan_code": "figure", "cell": "text"}
"""Types of LandingAI → kinds of blocks, where the names differ; other types are text."""
EDGES = ("left", "right", "top", "bottom")
MARKS = re.compile(r"<a id=[^<>]{0,100}></a>|<!--.{0,300}?-->|<::(?:\w+::>)?|::>", re.DOTALL)
"""Anchors, comments with places, and the marks `<::…::>` around descriptions of figures."""
TABLE = re.compile(r"(<table\b.*?</table>)", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"(#{1,6} +[^\n]+)\n*")


def parsed_document(value: Any, name: str) -> Parsed | None:
    """The document in the answer of LandingAI, LlamaParse or Azure; None for other JSON."""
    for service, known, read in (ADE, *SERVICES):
        if answer := known(value):
            with refusal(name, f"JSON of the document-parsing service {service}"):
                return read(answer)
    return None


def _ade(value: Any) -> Mapping[str, Any] | None:
    """The answer of Agentic Document Extraction (ADE Parse): `chunks` with Markdown and a place, cells of tables apart."""
    if isinstance(value, dict) and "chunks" not in value:
        value = value.get("data")
    chunks = value.get("chunks") if isinstance(value, dict) else None
    first = chunks[0] if isinstance(chunks, list) and chunks else None
    return value if isinstance(first, dict) and {"grounding", "type"} <= first.keys() else None


def _read_ade(value: Mapping[str, Any]) -> Parsed:
    text, pages = MarkdownText(), 0
    known = {name: _place(name, where) for name, where in (value.get("grounding") or {}).items()}
    for number, chunk in enumerate(value["chunks"]):
        with within(f"chunks[{number}]"):
            kind = KINDS.get(chunk["type"], chunk["type"] if chunk["type"] in BLOCKS else "text")
            name = str(chunk.get("id") or "")
            place = _place(name, {**((value.get("grounding") or {}).get(name) or {}), **(chunk.get("grounding") or {})})
            pages = max(pages, place[0])
            for part in TABLE.split(text_of(chunk.get("markdown"))):
                if TABLE.match(part):
                    text.add_table(html_rows(part, known), *place)
                else:
                    _add(text, kind, MARKS.sub("", part).strip(), place)
    metadata = value.get("metadata") or {}
    failed = metadata.get("failed_pages")
    notes = [f"the service failed on pages {', '.join(map(str, failed))}"] if failed else []
    stated = {"source": metadata.get("filename"), "model": metadata.get("version")}
    return text.parsed(stated, max(pages, page_of(metadata.get("page_count") or None)), notes)


def _place(name: str, where: Mapping[str, Any]) -> Place:
    """The place of a chunk or a cell; pages of groundings count from 0."""
    with within(f"grounding of {name!r}"):
        box, page = where.get("box"), where.get("page")
        edges = [box[edge] for edge in EDGES] if box else []
        return 0 if page is None else page_of(page + 1), box_of(edges[:2], edges[2:]), score_of(where.get("confidence")), name


def _add(text: MarkdownText, kind: str, part: str, place: Place) -> None:
    title = TITLE.match(part) if kind == "text" else None
    if title:
        text.add("heading", title[1], *place)
        part = part[title.end() :]
    text.add("text" if kind == "table" and not part.startswith("|") else kind, part, *place)


ADE: tuple[str, Callable[[Any], Any], Callable[[Any], Parsed]] = ("LandingAI", _ade, _read_ade)
