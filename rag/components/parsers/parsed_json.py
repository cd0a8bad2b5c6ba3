"""JSON of document-parsing services → Markdown, with the places of blocks and cells on the pages.

The form is that of LandingAI's Agentic Document Extraction: `chunks` with type, Markdown and grounding, and the cells of their
tables by id in the global `grounding`; the older names `chunk_type`, `chunk_id`, `text` and lists of groundings are read too.
"""

import re
from collections.abc import Mapping
from typing import Any

from rag.components.parsers.html_blocks import shown_text, table_grid
from rag.components.parsers.refusals import refusal
from rag.core.records import BLOCKS, Box, Parsed
from rag.documents.markdown_text import Cell, MarkdownText

KINDS = {"title": "heading", "card": "figure", "scan_code": "figure"}
KINDS |= dict.fromkeys(("page_header", "page_footer", "page_number"), "marginalia")
"""Types of services → kinds of blocks, where the names differ; other types are text."""
EDGES = (("left", "top", "right", "bottom"), ("l", "t", "r", "b"))
MARKS = re.compile(r"<a id=[^<>]{0,100}></a>|<!--.{0,300}?-->|<::(?:\w+::>)?|::>", re.DOTALL)
"""Anchors, comments with places, and the marks `<::…::>` around descriptions of figures."""
TABLE = re.compile(r"(<table\b.*?</table>)", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"(#{1,6} +[^\n]+)\n*")

Place = tuple[int, tuple[Box, ...], float | None, str]
"""Page, boxes, score and name of a block."""


def parsed_document(value: Any) -> Mapping[str, Any] | None:
    """The answer of a document-parsing service in a value, known by its keys; None for other JSON."""
    if isinstance(value, dict) and "chunks" not in value:
        value = value.get("data")
    chunks = value.get("chunks") if isinstance(value, dict) else None
    first = chunks[0] if isinstance(chunks, list) and chunks else None
    is_chunk = isinstance(first, dict) and "grounding" in first and ("type" in first or "chunk_type" in first)
    return value if is_chunk else None


def content_of(value: Mapping[str, Any], name: str) -> Parsed:
    """The document in the answer of a service."""
    with refusal(name, "JSON of a document-parsing service"):
        text, known, pages = MarkdownText(), value.get("grounding") or {}, 0
        for chunk in value["chunks"]:
            kind = (chunk.get("type") or chunk["chunk_type"]).lower()
            kind = KINDS.get(kind, kind if kind in BLOCKS and kind != "cell" else "text")
            place = _place(chunk, known)
            pages = max(pages, place[0])
            for part in TABLE.split(chunk.get("markdown") or chunk.get("text") or ""):
                if TABLE.match(part):
                    _add_table(text, part, place, known)
                else:
                    _add(text, kind, MARKS.sub("", part).strip(), place)
        metadata = value.get("metadata") or {}
        failed = metadata.get("failed_pages")
        notes = [f"the service failed on pages {', '.join(map(str, failed))}"] if failed else []
        stated = {"source": metadata.get("filename"), "model": metadata.get("version")}
        return text.parsed(stated, max(pages, int(metadata.get("page_count") or 0)), notes)


def _place(chunk: Mapping[str, Any], known: Mapping[str, Any]) -> Place:
    """The place of a chunk on its first page; pages of groundings count from 0."""
    name, own = str(chunk.get("id") or chunk.get("chunk_id") or ""), chunk.get("grounding") or {}
    first, *others = own if isinstance(own, list) else [own]
    first = {**(known.get(name) or {}), **first}
    page, score = first.get("page"), first.get("confidence")
    boxes = tuple(box for where in (first, *others) if where.get("page") == page and (box := _box(where)))
    is_score = isinstance(score, int | float) and 0 <= score <= 1
    return max(int(page) + 1, 0) if page is not None else 0, boxes, score if is_score else None, name


def _box(where: Mapping[str, Any]) -> Box | None:
    """The box of a grounding in shares of the page, or None."""
    box = where.get("box") or {}
    edges = next(([float(box[name]) for name in names] for names in EDGES if names[0] in box), [])
    if not edges or not all(-0.1 <= edge <= 1.1 for edge in edges):
        return None
    left, top, right, bottom = (min(max(edge, 0.0), 1.0) for edge in edges)
    return (min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def _add(text: MarkdownText, kind: str, part: str, place: Place) -> None:
    title = TITLE.match(part) if kind in ("heading", "text") else None
    if title:
        text.add("heading", title[1], *place)
        text.add("text", part[title.end() :], *place)
    elif kind == "heading":
        text.add(kind, f"## {part}" if part else "", *place)
    else:
        text.add("text" if kind == "table" and not part.startswith("|") else kind, part, *place)


def _add_table(text: MarkdownText, html: str, place: Place, known: Mapping[str, Any]) -> None:
    from lxml.html import HTMLParser, fragment_fromstring

    def placed(cell: Any) -> Cell:
        name = cell.get("id", "")
        _, boxes, score, _ = _place({"id": name}, known)
        return Cell(shown_text(cell), boxes, score, name if name in known else "")

    table = fragment_fromstring(html, create_parent="div", parser=HTMLParser(no_network=True)).find(".//table")
    if table is not None:
        text.add_table(table_grid(table, placed), *place)
