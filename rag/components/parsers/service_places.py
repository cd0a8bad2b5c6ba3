"""Checked values in the JSON of document-parsing services. Pages count from 1, boxes are shares of the page."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rag.components.parsers.html_blocks import shown_text, table_grid
from rag.core.checks import is_whole
from rag.core.errors import DataError
from rag.core.types import Box
from rag.documents.pages.markdown_text import Cell, Row

MOST_PAGES = 20_000
OUTSIDE = 0.1
"""Share of a page by which a box may pass its edges."""

Place = tuple[int, tuple[Box, ...], float | None, str]
"""Page, boxes, score and name of a block."""
Size = tuple[Any, Any]
"""Width and height of a page in the unit of its boxes, None where the service gives none."""


@contextmanager
def within(place: str) -> Iterator[None]:
    """Name a place of the JSON in the errors of the block."""
    try:
        yield
    except (DataError, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise ValueError(f"{place}: {type(error).__name__} {error}") from error


def whole(value: Any, lowest: int, highest: int) -> int:
    """A whole number within limits; ValueError for anything else."""
    if not is_whole(value, lowest, highest):
        raise ValueError(f"{value!r} is not a whole number from {lowest} to {highest}")
    return int(value)


def page_of(value: Any) -> int:
    """The number of a page, 0 for None."""
    return 0 if value is None else whole(value, 1, MOST_PAGES)


def text_of(value: Any) -> str:
    """A text, empty for None; TypeError for anything else."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is not a text")
    return value or ""


def score_of(value: Any) -> float | None:
    """A probability, or None."""
    return value if type(value) in (int, float) and 0 <= value <= 1 else None


def box_of(across: list[Any], down: list[Any], size: Size = (1, 1)) -> tuple[Box, ...]:
    """The box around points, none without the size of the page; ValueError for one that is not on the page."""
    if not across or not size[0] or not size[1]:
        return ()
    if not all(type(each) in (int, float) and math.isfinite(each) for each in (*across, *down, *size)):
        raise ValueError(f"a box of {[*across, *down]} on a page of {size}")
    edges = (min(across) / size[0], min(down) / size[1], max(across) / size[0], max(down) / size[1])
    if not all(-OUTSIDE <= edge <= 1 + OUTSIDE for edge in edges):
        raise ValueError(f"a box outside of its page: {[round(edge, 3) for edge in edges]}")
    left, top, right, bottom = (min(max(float(edge), 0.0), 1.0) for edge in edges)
    return ((left, top, right, bottom),)


def html_rows(html: str, cells: Mapping[str, Place]) -> list[Row]:
    """The rows of the first table, with the places of cells by their `id`."""
    from lxml.html import HTMLParser, fragment_fromstring

    def placed(cell: Any) -> Cell:
        _, boxes, score, name = cells.get(cell.get("id", ""), (0, (), None, cell.get("id", "")))
        return Cell(shown_text(cell), boxes, score, name)

    table = fragment_fromstring(html, create_parent="div", parser=HTMLParser(no_network=True)).find(".//table")
    return [] if table is None else table_grid(table, placed)
