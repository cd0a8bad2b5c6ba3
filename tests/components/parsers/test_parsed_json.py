"""JSON of document-parsing services: the page of a price list in the form of each, with its places."""

import json
from typing import Any

import pytest

from rag.components.parsers.json import JsonParser
from rag.core.errors import DataError
from rag.core.types import Parsed

BOX = (0.1, 0.2, 0.5, 0.25)
CELLS = {"0-2": (0.1, 0.5, 0.9, 0.6), "0-3": (0.1, 0.6, 0.5, 0.7), "0-4": (0.5, 0.6, 0.9, 0.7)}
TABLE = (
    '<table id="0-1"><tr><td id="0-2" colspan="2">PRICES</td></tr><tr><td id="0-3">A|1</td><td id="0-4">$2</td></tr></table>'
)
TEXT = """## Prices

All prices in dollars.

logo: Zoom

A chart of prices

| PRICES |  |
| --- | --- |
| A\\|1 | $2 |

- 1 -"""


def ade() -> dict[str, Any]:
    """ADE Parse: `type`, `markdown` with anchors, one grounding, and a global dictionary of groundings."""

    def where(box: tuple[float, ...], kind: str) -> dict[str, Any]:
        return {"box": dict(zip(("left", "top", "right", "bottom"), box, strict=True)), "page": 0, "type": kind}

    texts = [
        ("a", "text", "## Prices\n\nAll prices in dollars."),
        ("c", "logo", "<::logo: Zoom::>"),
        ("d", "figure", "<::figure::>A chart of prices<::figure::>"),
        ("e", "table", TABLE),
        ("f", "marginalia", "- 1 -"),
    ]
    chunks = [
        {"id": name, "type": kind, "markdown": f"<a id='{name}'></a>\n\n{text}", "grounding": where(BOX, "")}
        for name, kind, text in texts
    ]
    known = {name: where(box, "tableCell") for name, box in CELLS.items()} | {
        "a": {**where(BOX, "chunkText"), "confidence": 0.9}
    }
    metadata = {"page_count": 2, "filename": "prices.pdf", "version": "dpt-2", "failed_pages": [1]}
    return {"chunks": chunks, "markdown": "", "splits": [], "grounding": known, "metadata": metadata}


def parse(value: Any) -> Parsed:
    return JsonParser(max_values=1000).parse(json.dumps(value).encode(), "a.json")


@pytest.mark.parametrize("form", [ade, lambda: {"job_id": "j", "status": "completed", "data": ade()}])
def test_text_kinds_and_places(form: Any) -> None:
    content = parse(form())
    assert content.text == TEXT
    assert content.pages == 2
    blocks = [block for block in content.blocks if block.kind != "cell"]
    assert [block.kind for block in blocks] == ["heading", "text", "logo", "figure", "table", "marginalia"]
    assert all((block.page, block.boxes) == (1, (BOX,)) for block in blocks)
    cells = [
        (block.name, block.boxes, content.text[block.start : block.end]) for block in content.blocks if block.kind == "cell"
    ]
    texts = zip(CELLS.items(), ("PRICES", "A\\|1", "$2"), strict=True)
    assert cells == [(name, (box,), text) for (name, box), text in texts]


def test_confidence_and_pages_that_failed_are_kept() -> None:
    content = parse(ade())
    assert [block.score for block in content.blocks[:3]] == [0.9, 0.9, None]
    assert content.blocks[0].name == "a"
    assert content.notes == ("the service failed on pages 1",)
    assert content.metadata == {"title": "Prices", "source": "prices.pdf", "model": "dpt-2"}


def test_a_broken_form_is_one_line() -> None:
    value = ade()
    value["chunks"][2] = {"grounding": 3}
    with pytest.raises(DataError, match=r"LandingAI \(ValueError: chunks\[2\]: KeyError 'type'"):
        parse(value)


def test_other_json_with_chunks_is_not_taken_for_a_document() -> None:
    assert parse({"chunks": [{"type": "a", "size": 3}]}).text == "## chunks[0]\n\n- type: a\n- size: 3"
    for other in (
        {"pages": [{"page": 1, "items": [{"id": 7}]}]},
        [{"page": 1}],
        [["page"]],
        {"pages": {"page": 1}},
        {"items": 3},
    ):
        assert parse(other).blocks[0].page == 0


ROWS = [["PRICES", None], ["A|1", "$2"]]
SHOWN = """# Prices

All prices
in dollars.

- Net

| PRICES |  |
| --- | --- |
| A\\|1 | $2 |

- 1 -"""
PLACED = [(0.1, 0.2, 0.5, 0.25), (0.1, 0.3, 0.5, 0.35), (0.1, 0.4, 0.5, 0.45), (0.1, 0.5, 0.9, 0.7), (0.4, 0.9, 0.6, 0.95)]
WORDS = ["Prices", "All prices\nin dollars.", "Net", "", "- 1 -"]


def llama(version: int = 1) -> Any:
    """A result of LlamaParse: version 1 with one `bBox` and `lvl`, version 2 with a list of them and `level`."""
    size = ("width", "height") if version == 1 else ("page_width", "page_height")
    types = ["heading", "text", "list", "table", "footer" if version == 2 else "text"]
    items: list[Any] = []
    for kind, words, (left, top, right, bottom) in zip(types, WORDS, PLACED, strict=True):
        box = {"x": left * 600, "y": top * 800, "w": (right - left) * 600, "h": (bottom - top) * 800}
        markdown = {"heading": f"# {words}", "list": f"- {words}", "table": "|PRICES| |\n|-|-|\n|A\\|1|$2|"}.get(kind, words)
        own = {"rows": ROWS, "isPerfectTable": True, "csv": ""} if kind == "table" else {"value": words}
        items.append({"type": kind, "md": markdown, **own, **({"bBox": box} if version == 1 else {"bbox": [box]})})
    items[0] |= {"lvl": 1} if version == 1 else {"level": 1}
    page = {"page" if version == 1 else "page_number": 1, "items": items, size[0]: 600, size[1]: 800}
    empty = {"page" if version == 1 else "page_number": 2, "items": [], "md": "", "text": ""}
    if version == 2:
        return {"job": {"id": "j"}, "items": {"pages": [page, empty]}}
    return [{"pages": [page | {"md": "", "text": ""}, empty], "job_id": "j", "job_metadata": {"job_pages": 2}}]


def azure() -> dict[str, Any]:
    """A layout of Azure Document Intelligence: cells of a table are paragraphs too, and tables stand apart."""

    def region(box: tuple[float, ...]) -> list[Any]:
        left, top, right, bottom = (side * size for side, size in zip(box, (8.5, 11, 8.5, 11), strict=True))
        return [{"pageNumber": 1, "polygon": [left, top, right, top, right, bottom, left, bottom]}]

    def part(offset: int, words: str, box: tuple[float, ...], role: str | None = None) -> dict[str, Any]:
        own = {"spans": [{"offset": offset, "length": 4}], "content": words, "boundingRegions": region(box)}
        return own | ({"role": role} if role else {})

    roles = ["title", None, None, "", "pageNumber"]
    texts = [WORDS[0], WORDS[1], "- Net", "", WORDS[4]]
    paragraphs = [part(10 * at, texts[at], PLACED[at], roles[at]) for at in (4, 0, 1, 2)] + [part(33, "A|1", CELLS["0-3"])]
    places = [(0, 0, "PRICES", "0-2"), (1, 0, "A|1", "0-3"), (1, 1, "$2", "0-4")]
    cells = [{"rowIndex": row, "columnIndex": at, **part(0, words, CELLS[name])} for row, at, words, name in places]
    table = {"rowCount": 2, "columnCount": 2, "cells": cells, "spans": [{"offset": 30, "length": 9}]}
    pages = [{"pageNumber": 1, "angle": 0, "width": 8.5, "height": 11, "unit": "inch"}, {"pageNumber": 2}]
    result = {"apiVersion": "2024-11-30", "modelId": "prebuilt-layout", "content": "", "pages": pages}
    tables = [table | {"boundingRegions": region(PLACED[3])}]
    return {"status": "succeeded", "analyzeResult": result | {"paragraphs": paragraphs, "tables": tables}}


FORMS = [(azure(), "marginalia"), (llama(2), "marginalia"), (llama(), "text")]


@pytest.mark.parametrize(("form", "last"), FORMS)
def test_services_give_the_same_document(form: Any, last: str) -> None:
    content = parse(form)
    blocks = [block for block in content.blocks if block.kind != "cell"]
    assert (content.text, content.pages, content.metadata["title"]) == (SHOWN, 2, "Prices")
    assert [block.kind for block in blocks][::2] == ["heading", blocks[2].kind, last]
    assert [block.boxes for block in blocks] == [(pytest.approx(box),) for box in PLACED]
    assert {block.page for block in content.blocks} == {1}
    cells = [(content.text[block.start : block.end], block.boxes) for block in content.blocks if block.kind == "cell"]
    if isinstance(form, dict) and "analyzeResult" in form:
        names = (("PRICES", "0-2"), ("A\\|1", "0-3"), ("$2", "0-4"))
        assert cells == [(words, (pytest.approx(CELLS[name]),)) for words, name in names]


def test_a_page_without_items() -> None:
    assert parse({"pages": [{"page": 3, "md": "## A\n\nB"}]}).text == "## A\n\nB"


Keys = tuple[Any, ...]
LLAMA_BOX: Keys = (0, "pages", 0, "items", 1, "bBox")
AZURE_AT: Keys = ("analyzeResult", "tables", 0)
HOSTILE: list[tuple[Any, Keys, Any, str]] = [
    (llama, (*LLAMA_BOX, "x"), float("nan"), r"pages\[0\]: ValueError items\[1\]: ValueError|items\[1\]: TypeError"),
    (llama, (*LLAMA_BOX, "y"), -500, r"items\[1\].* outside of its page"),
    (llama, (*LLAMA_BOX, "w"), "6", r"items\[1\]"),
    (llama, (0, "pages", 0, "page"), 10**6, r"pages\[0\].*1000000"),
    (llama, (0, "pages", 1), 7, r"pages\[1\]"),
    (llama, (0, "pages", 0, "items", 0, "lvl"), 10**9, r"items\[0\]"),
    (llama, (0, "pages", 0, "items", 1, "md"), ["a"], r"items\[1\].*is not a text"),
    (azure, (*AZURE_AT, "rowCount"), 10**9, r"tables\[0\]"),
    (azure, (*AZURE_AT, "cells", 1, "rowIndex"), -1, r"tables\[0\].*cells\[1\]"),
    (azure, (*AZURE_AT, "boundingRegions", 0, "pageNumber"), 3, r"tables\[0\]: KeyError 3"),
    (azure, ("analyzeResult", "paragraphs", 2, "boundingRegions", 0, "polygon", 3), -9, r"paragraphs\[2\].*outside"),
    (azure, ("analyzeResult", "pages", 0, "pageNumber"), True, "pages: ValueError True"),
    (ade, ("chunks", 1, "grounding", "box", "left"), -3, r"chunks\[1\].*outside of its page"),
    (ade, ("chunks", 1, "grounding", "page"), 10**6, r"chunks\[1\]"),
]


@pytest.mark.parametrize(("form", "keys", "value", "what"), HOSTILE)
def test_a_wrong_value_is_refused_with_its_file_and_place(form: Any, keys: Keys, value: Any, what: str) -> None:
    whole = part = form()
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    with pytest.raises(DataError, match=rf"^a.json: is not readable as JSON of .*{what}"):
        parse(whole)
