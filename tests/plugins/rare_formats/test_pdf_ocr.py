"""Scanned pages: lines that an engine finds become blocks at their places; the real engine where it is installed."""

import importlib.util
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.choices import build
from support.drawn_pdfs import drawn, scan

from rag.core.errors import MissingExtraError

IS_INSTALLED = importlib.util.find_spec("rapidocr") is not None
Corners = list[list[float]]


@dataclass
class Found:
    boxes: Any
    txts: tuple[str, ...] | None
    scores: tuple[float, ...] | None


def corners(left: float, top: float, right: float, bottom: float) -> Corners:
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def install(patch: pytest.MonkeyPatch, found: Found, images: list[Any]) -> None:
    """Put a module `rapidocr` in place whose engine finds the same lines in every image."""

    def engine(image: Any) -> Found:
        images.append(image)
        return found

    module = types.ModuleType("rapidocr")
    module.RapidOCR = lambda params: engine  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "rapidocr", module)


def test_lines_of_an_image_become_blocks_with_boxes_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    # At 144 pixels per inch a page of 600 × 800 points has 1200 × 1600 pixels.
    boxes = [corners(120, 160, 600, 200), corners(120, 400, 900, 420), corners(120, 424, 400, 444)]
    images: list[Any] = []
    install(monkeypatch, Found(np.array(boxes), ("Rivers", "were clear in", "spring"), (0.99, 0.9, 0.8)), images)
    pages = scan(drawn([[(40, 100, "one")], [(40, 100, "two")]]))
    content = build("parser", "pdfium_ocr", resolution=144, most_scanned=1).parse(pages, "a.pdf")
    assert [image.shape for image in images] == [(1600, 1200, 3)]
    assert content.text == "# Rivers\n\nwere clear in spring"
    assert [(block.kind, block.page, block.boxes, block.score) for block in content.blocks] == [
        ("heading", 1, ((0.1, 0.1, 0.5, 0.125),), 0.99),
        ("text", 1, ((0.1, 0.25, 0.75, 0.2775),), 0.8),
    ]
    assert content.notes[0] == "1 of 2 scanned pages were read by OCR"
    assert content.notes[1].startswith("page 2 is a scanned image: no text")


def test_an_image_without_text_is_an_empty_page(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Found(None, None, None), [])
    content = build("parser", "pdfium_ocr").parse(scan(drawn([[]])), "a.pdf")
    assert (content.text, content.blocks, content.pages) == ("", (), 1)


def test_only_scanned_pages_need_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    parser = build("parser", "pdfium_ocr")
    assert parser.parse(drawn([[(40, 100, "one")]]), "a.pdf").text == "one"
    with pytest.raises(MissingExtraError, match="rapidocr"):
        parser.parse(scan(drawn([[(40, 100, "one")]])), "a.pdf")


@pytest.mark.skipif(not IS_INSTALLED, reason="rapidocr is not installed: pip install 'assay[ocr]'")
def test_the_real_engine_reads_a_scanned_page() -> None:
    lines = ("The rivers were clear in spring", "Weeds came back in autumn")
    page = scan(drawn([[(60, 100, lines[0], 14), (60, 300, lines[1], 14)]]))
    content = build("parser", "pdfium_ocr").parse(page, "a.pdf")
    assert content.text == "\n\n".join(lines)
    for block, top in zip(content.blocks, (100, 300), strict=True):
        assert block.boxes[0][:2] == pytest.approx((60 / 600, top / 800), abs=0.01)
        assert block.score is not None
        assert block.score > 0.8
