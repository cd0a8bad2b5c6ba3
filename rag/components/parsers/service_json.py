"""JSON of LlamaParse and Azure Document Intelligence → Markdown, with the places of blocks and cells.

Formats: https://developers.llamaindex.ai/llamaparse/parse/features/layout-and-bounding-boxes (and version 1, with `bBox`),
https://learn.microsoft.com/azure/ai-services/document-intelligence/prebuilt/layout.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rag.components.parsers.service_places import Size, box_of, page_of, text_of, whole, within
from rag.core.types import Box, Parsed
from rag.documents.pages.markdown_text import Cell, MarkdownText, one_line

PLACES = 1_000_000
"""The most cells of a table."""
LLAMA = {"list": "list", "code": "code", "image": "figure", "header": "marginalia", "footer": "marginalia"}
AZURE = dict.fromkeys(("pageHeader", "pageFooter", "pageNumber"), "marginalia") | {"footnote": "footnote"}
"""Types of each service → kinds of blocks; other types are text."""


def _llama(value: Any) -> Sequence[Any] | None:
    """The pages of LlamaParse, also where they are in a list for one file, or below `items` (version 2)."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    for key in ("items", "pages"):
        value = value.get(key, value) if isinstance(value, dict) else value
    first = value[0] if isinstance(value, list) and value else None
    if not isinstance(first, dict) or not {"page", "page_number"} & first.keys():
        return None
    items = first.get("items")
    typed = isinstance(items, list) and all(isinstance(item, dict) and {"type", "md"} <= item.keys() for item in items[:1])
    return value if "md" in first or typed else None


def _read_llama(pages: Sequence[Any]) -> Parsed:
    text, last = MarkdownText(), 0
    for index, page in enumerate(pages):
        with within(f"pages[{index}]"):
            number = page_of(page.get("page", page.get("page_number")))
            size = page.get("width", page.get("page_width")), page.get("height", page.get("page_height"))
            last = max(last, number)
            items = page.get("items") or [{"type": "text", "md": page.get("md") or page.get("text")}]
            for at, item in enumerate(items):
                with within(f"items[{at}]"):
                    _add_item(text, item, number, size)
    return text.parsed({}, last)


def _add_item(text: MarkdownText, item: Mapping[str, Any], page: int, size: Size) -> None:
    found = item.get("bBox") or item.get("bbox") or []
    boxes: list[Box] = []
    for box in found if isinstance(found, list) else [found]:
        x, y = box["x"], box["y"]
        boxes += box_of([x, x + box["w"]], [y, y + box["h"]], size)
    kind, words = item["type"], text_of(item.get("md") or item.get("value") or item.get("caption"))
    if kind == "heading":
        level = whole(item.get("lvl", item.get("level", 1)), 1, 100)
        text.add("heading", f"{'#' * min(level, 6)} {one_line(text_of(item['value']))}", page, tuple(boxes))
    elif kind == "table" and item.get("rows"):
        rows = [[one_line(str("" if cell is None else cell)) for cell in row] for row in item["rows"]]
        text.add_table(rows, page, tuple(boxes))
    else:
        text.add(LLAMA.get(kind, "text"), words, page, tuple(boxes), is_markdown=True)


def _azure(value: Any) -> Mapping[str, Any] | None:
    result = value.get("analyzeResult", value) if isinstance(value, dict) else None
    keys = {"modelId", "content", "pages"}
    return result if isinstance(result, dict) and keys <= result.keys() and isinstance(result["pages"], list) else None


def _read_azure(result: Mapping[str, Any]) -> Parsed:
    """Paragraphs and tables in the order of their spans; the paragraphs of a table's cells are left out."""
    with within("pages"):
        sizes = {page_of(page["pageNumber"]): (page.get("width"), page.get("height")) for page in result["pages"]}
    text, tables = MarkdownText(), sorted(_spans(result, "tables"), key=lambda each: each[:2])
    starts = [start for start, *_ in tables]
    ends = [end for _, end, *_ in tables]
    own = []
    for found in _spans(result, "paragraphs"):
        before = bisect_right(starts, found[0]) - 1
        own += [found] if before < 0 or found[1] > ends[before] else []
    for _, _, where, part in sorted([*own, *tables], key=lambda each: each[:2]):
        with within(where):
            page, boxes = _regions(part, sizes)
            if where.startswith("tables"):
                text.add_table(_azure_grid(part, sizes), page, boxes)
                continue
            role, words = part.get("role"), text_of(part["content"])
            is_heading = role in ("title", "sectionHeading")
            words = f"{'#' if role == 'title' else '##'} {one_line(words)}" if is_heading else words
            text.add("heading" if is_heading else AZURE.get(role, "text"), words, page, boxes)
    return text.parsed({"model": text_of(result["modelId"])}, max(sizes, default=0))


def _spans(result: Mapping[str, Any], name: str) -> Iterator[tuple[int, int, str, Any]]:
    """Start, end, place and value of each paragraph or table."""
    for number, part in enumerate(result.get(name) or []):
        with within(f"{name}[{number}]"):
            spans = [(whole(span["offset"], 0, 1 << 40), whole(span["length"], 0, 1 << 40)) for span in part["spans"]]
            first = min(offset for offset, _ in spans) if spans else 0
            yield first, max((offset + length for offset, length in spans), default=0), f"{name}[{number}]", part


def _regions(part: Mapping[str, Any], sizes: Mapping[int, Size]) -> tuple[int, tuple[Box, ...]]:
    """The first page of a part, and its boxes there."""
    regions = [(page_of(each["pageNumber"]), each["polygon"]) for each in part.get("boundingRegions") or []]
    page = regions[0][0] if regions else 0
    own = [points for number, points in regions if number == page]
    return page, tuple(box for points in own for box in box_of(points[::2], points[1::2], sizes[page]))


def _azure_grid(table: Mapping[str, Any], sizes: Mapping[int, Size]) -> list[list[Cell | str | None]]:
    rows, columns = whole(table["rowCount"], 0, PLACES), whole(table["columnCount"], 0, PLACES)
    whole(rows * columns, 0, PLACES)
    grid: list[list[Cell | str | None]] = [[None] * columns for _ in range(rows)]
    for number, cell in enumerate(table["cells"]):
        with within(f"cells[{number}]"):
            row, column = whole(cell["rowIndex"], 0, rows - 1), whole(cell["columnIndex"], 0, columns - 1)
            grid[row][column] = Cell(text_of(cell["content"]), _regions(cell, sizes)[1])
    return grid


SERVICES: tuple[tuple[str, Callable[[Any], Any], Callable[[Any], Parsed]], ...] = (
    ("LlamaParse", _llama, _read_llama),
    ("Azure Document Intelligence", _azure, _read_azure),
)
"""Name of a service, the function that knows its answer, and the function that reads it."""
