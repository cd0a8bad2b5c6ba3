"""JSON of document-parsing services → Markdown, with the places of blocks and cells on the pages.

Three forms of LandingAI's Agentic Document Extraction: `chunks` with `chunk_type`, `text` and a list of groundings
(agentic-doc); `chunks` with `type`, `markdown` and one grounding, and cells by their ids in the global `grounding` (ADE Parse);
`structure` with pages, elements and ranges of `markdown` (Parse v2). Descriptions of figures lose their marks `<::…::>`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rag.components.parsers.html_blocks import table_grid
from rag.components.parsers.markdown_text import NOWHERE, MarkdownText
from rag.components.parsers.refusals import refusal
from rag.core.records import BLOCKS, Block, Box, Parsed

KINDS = {"title": "heading", "card": "figure", "scancode": "figure"}
KINDS |= dict.fromkeys(("pageheader", "pagefooter", "pagenumber"), "marginalia")
"""Types of services → kinds of blocks, where the names differ; other types are text."""
EDGES = (("l", "t", "r", "b"), ("left", "top", "right", "bottom"), ("xmin", "ymin", "xmax", "ymax"))
MARKS = re.compile(r"<a id=[^<>]{0,100}></a>|<!--.{0,300}?-->|<::(?:\w+::>)?|::>", re.DOTALL)
"""Anchors, comments with places, and the marks `<::…::>` around descriptions of figures."""
TABLE = re.compile(r"(<table\b.*?</table>)", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"(#{1,6}) +([^\n]+)\n*")


def is_parsed(value: Any) -> bool:
    """True for the JSON of a document-parsing service, by its keys."""
    if not isinstance(value, dict):
        return False
    chunks, structure = value.get("chunks"), value.get("structure")
    if isinstance(structure, dict) and isinstance(value.get("markdown"), str):
        return isinstance(structure.get("children"), list)
    first = chunks[0] if isinstance(chunks, list) and chunks else None
    is_chunk = isinstance(first, dict) and "grounding" in first and ("type" in first or "chunk_type" in first)
    return is_chunk or ("data" in value and is_parsed(value["data"]))


def content_of(value: Any, name: str) -> Parsed:
    """The document in a value for which `is_parsed` is true."""
    if "chunks" not in value and "structure" not in value:
        return content_of(value["data"], name)
    with refusal(name, "JSON of a document-parsing service"):
        text, pages = MarkdownText(), 0
        for kind, words, place, cells in _elements(value):
            pages = max(pages, place.page)
            _add(text, kind, words, place, cells)
        metadata = value.get("metadata") or {}
        failed = metadata.get("failed_pages") or []
        notes = [f"the service failed on pages {', '.join(map(str, failed))}"] if failed else []
        known = {"source": metadata.get("filename"), "model": metadata.get("version") or metadata.get("model_version")}
        return text.parsed(known, max(pages, int(metadata.get("page_count") or 0)), notes)


Cells = Mapping[Any, Block]
"""Id of a cell, or its row and column → its place."""


def _elements(value: Mapping[str, Any]) -> Iterator[tuple[str, str, Block, Cells]]:
    """Kind, text, place and cells of every element in reading order."""
    if "structure" in value:
        for page in value["structure"]["children"]:
            for node in page.get("children", ()):
                where = node["grounding"]
                words = value["markdown"][where["range"]["start"] : where["range"]["end"]]
                cells = {
                    (cell["row"], cell["col"]): _place(cell["grounding"], cell["id"], 0) for cell in node.get("children", ())
                }
                yield _kind(node["type"]), words, _place(where, node["id"], 0), cells
        return
    known = value.get("grounding") or {}
    cells = {key: _place(where, key, 1) for key, where in known.items() if where and where.get("type") == "tableCell"}
    for chunk in value["chunks"]:
        name, where = chunk.get("id") or chunk.get("chunk_id") or "", chunk.get("grounding") or {}
        first, *others = where if isinstance(where, list) and where else [where or {}]
        place = _place({"page": chunk.get("page"), **known.get(name, {}), **first}, name, 1)
        same = [box for other in others if other.get("page") == first.get("page") and (box := _box(other))]
        place = replace(place, boxes=(*place.boxes, *same))
        yield _kind(chunk.get("type") or chunk["chunk_type"]), chunk.get("markdown") or chunk.get("text") or "", place, cells


def _kind(name: str) -> str:
    short = name.lower().replace("_", "").removeprefix("chunk")
    return KINDS.get(short, short if short in BLOCKS and short != "cell" else "text")


def _place(where: Mapping[str, Any], name: str, first: int) -> Block:
    """The place that a grounding gives; its pages count from `1 - first`."""
    page, score, box = where.get("page"), where.get("confidence"), _box(where)
    is_score = isinstance(score, int | float) and 0 <= score <= 1
    page = max(int(page) + first, 0) if page is not None else 0
    return Block("", 0, 0, page, (box,) if box else (), score if is_score else None, str(name))


def _box(where: Mapping[str, Any]) -> Box | None:
    """The box of a grounding in shares of the page, or None."""
    box = where.get("box") or {}
    edges: list[float] | None = next(([float(box[name]) for name in names] for names in EDGES if names[0] in box), None)
    if edges is None or not all(-0.1 <= edge <= 1.1 for edge in edges):
        return None
    left, top, right, bottom = (min(max(edge, 0.0), 1.0) for edge in edges)
    return (min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def _add(text: MarkdownText, kind: str, words: str, place: Block, cells: Cells) -> None:
    for number, part in enumerate(TABLE.split(words)):
        part = part.strip() if number % 2 else MARKS.sub("", part).strip()
        if number % 2:
            _add_table(text, part, place, cells)
        elif kind in ("heading", "text"):
            title = TITLE.match(part)
            level = len(title[1]) if title else 2
            first = title[2] if title else part if kind == "heading" else ""
            text.heading(level, first, place)
            text.paragraph("" if kind == "heading" and not title else part[title.end() :] if title else part, place)
        elif kind == "table":
            text.add("table" if part.startswith("|") else "text", part, place)
        else:
            text.paragraph(part, place, kind)


def _add_table(text: MarkdownText, html: str, place: Block, cells: Cells) -> None:
    from lxml.html import HTMLParser, fragment_fromstring

    def place_of(cell: Any, row: int, column: int) -> Block:
        return cells.get(cell.get("id")) or cells.get((row, column)) or NOWHERE

    table = fragment_fromstring(html, create_parent="div", parser=HTMLParser(no_network=True)).find(".//table")
    if table is not None:
        text.table(table_grid(table, place_of), place)
