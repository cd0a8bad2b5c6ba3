"""JSON of document-parsing services: the page of a price list, with its places."""

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
    with pytest.raises(DataError, match="is not readable as JSON of a document-parsing service"):
        parse(value)


def test_other_json_with_chunks_is_not_taken_for_a_document() -> None:
    assert parse({"chunks": [{"type": "a", "size": 3}]}).text == "## chunks[0]\n\n- type: a\n- size: 3"
