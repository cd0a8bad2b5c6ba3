"""Recognised text of scanned pages."""

from collections.abc import Callable
from typing import Any

from rag.core.errors import MissingExtraError
from rag.documents.pages.columns import in_reading_order
from rag.documents.pages.lines import Line, Page, clean, in_rows

Engine = Callable[[Any], Any]
"""An image, shape (height, width, 3), blue before red → `boxes` (corners x, y in pixels), `txts` and `scores` of its lines."""


def load_engine() -> Engine:
    """RapidOCR with the models of its package, on one thread; MissingExtraError if it is not installed."""
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise MissingExtraError("loader.parsers.pdf", "rapidocr", "ocr") from error
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    engine: Engine = RapidOCR(params={"Global.log_level": "error"} | threads)
    return engine


def recognised(engine: Engine, image: Any, page: Page) -> Page:
    """A page with the lines that `engine` finds in its `image`, in reading order."""
    found = engine(image)
    if found.boxes is None or not found.txts:
        return page
    across, down = page.width / image.shape[1], page.height / image.shape[0]
    lines = []
    for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
        xs, ys = [float(x) * across for x, _ in corners], [float(y) * down for _, y in corners]
        size = max(ys) - min(ys)
        lines.append(Line(clean(text), min(xs), min(ys), max(xs), max(ys), size, score=round(float(score), 3)))
    return Page(page.number, page.width, page.height, in_rows(in_reading_order(lines, page.width)))
