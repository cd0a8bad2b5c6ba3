"""JSON of document-parsing services → Markdown, with the places of blocks and cells on the pages.

The form is that of LandingAI's Agentic Document Extraction (ADE Parse): `chunks` with type, Markdown and grounding, and the
cells of their tables by id in the global `grounding`.
"""

import re
from collections.abc import Mapping
from typing import Any

from rag.components.parsers.html_blocks import shown_text, table_grid
from rag.components.parsers.refusals import refusal
from rag.core.types import BLOCKS, Box, Parsed
from rag.documents.pages.markdown_text import Cell, MarkdownText

KINDS = {"card": "figure", "scan_code": "figure", "cell": "text"}
"""Types of the service → kinds of blocks, where the names differ; other types are text."""
EDGES = ("left", "top", "right", "bottom")
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
    return value if isinstance(first, dict) and {"grounding", "type"} <= first.keys() else None


def content_of(value: Mapping[str, Any], name: str) -> Parsed:
    """The document in the answer of a service."""
    with refusal(name, "JSON of a document-parsing service"):
        text, known, pages = MarkdownText(), value.get("grounding") or {}, 0
        for chunk in value["chunks"]:
            kind = KINDS.get(chunk["type"], chunk["type"] if chunk["type"] in BLOCKS else "text")
            place = _place(chunk, known)
            pages = max(pages, place[0])
            for part in TABLE.split(chunk.get("markdown") or ""):
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
    """The place of a chunk or a cell; pages of groundings count from 0."""
    name = str(chunk.get("id") or "")
    where = {**(known.get(name) or {}), **(chunk.get("grounding") or {})}
    page, score, box = where.get("page"), where.get("confidence"), _box(where)
    is_score = isinstance(score, int | float) and 0 <= score <= 1
    return max(int(page) + 1, 0) if page is not None else 0, (box,) if box else (), score if is_score else None, name


def _box(where: Mapping[str, Any]) -> Box | None:
    """The box of a grounding in shares of the page, or None."""
    box = where.get("box") or {}
    edges = [float(box[name]) for name in EDGES] if box else []
    if not edges or not all(-0.1 <= edge <= 1.1 for edge in edges):
        return None
    left, top, right, bottom = (min(max(edge, 0.0), 1.0) for edge in edges)
    return (min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def _add(text: MarkdownText, kind: str, part: str, place: Place) -> None:
    title = TITLE.match(part) if kind == "text" else None
    if title:
        text.add("heading", title[1], *place)
        part = part[title.end() :]
    text.add("text" if kind == "table" and not part.startswith("|") else kind, part, *place)


def _add_table(text: MarkdownText, html: str, place: Place, known: Mapping[str, Any]) -> None:
    from lxml.html import HTMLParser, fragment_fromstring

    def placed(cell: Any) -> Cell:
        name = cell.get("id", "")
        _, boxes, score, _ = _place({"id": name}, known)
        return Cell(shown_text(cell), boxes, score, name)

    table = fragment_fromstring(html, create_parent="div", parser=HTMLParser(no_network=True)).find(".//table")
    if table is not None:
        text.add_table(table_grid(table, placed), *place)
