"""Headers, footers and page numbers: the outermost lines of pages, if they repeat from page to page."""

import re
from collections import Counter
from collections.abc import Sequence

from rag.documents.pages.lines import Line, Page

DEEPEST = 3
"""Lines at the top and at the bottom of a page that may be marginalia."""
NUMBER = re.compile(r"(?:page\s*)?\W*(\d{1,4})\W*(?:(?:of|/)\s*\d{1,4})?", re.IGNORECASE)
WIDEST = 120
"""Characters of a line that may be a header or footer."""


def marginalia(pages: Sequence[Page]) -> dict[int, set[int]]:
    """Page number → indexes of its lines that are headers, footers or page numbers.

    A line is one if the same text, digits aside, is as far from the edge on at least three pages (on both pages of two), or if
    it is a number that counts on with the pages. Lines further in count only where those further out do.
    """
    edges = {page.number: _edges(page) for page in pages}
    seen: Counter[tuple[object, ...]] = Counter()
    for page in pages:
        signs = (_signs(page, page.lines[index], depth, at_top) for depth, index, at_top in edges[page.number])
        seen.update({sign for some in signs for sign in some})
    needed = min(3, max(2, len(pages)))
    found: dict[int, set[int]] = {page.number: set() for page in pages}
    for page in pages:
        closed: set[bool] = set()
        for depth, index, at_top in edges[page.number]:
            if at_top in closed:
                continue
            if any(seen[sign] >= needed for sign in _signs(page, page.lines[index], depth, at_top)):
                found[page.number].add(index)
            else:
                closed.add(at_top)
    return found


def _edges(page: Page) -> list[tuple[int, int, bool]]:
    """(depth, index, whether at the top) of the outermost lines of a page, from the edges inwards."""
    order = sorted(range(len(page.lines)), key=lambda index: page.lines[index].middle)
    deepest = min(DEEPEST, (len(order) + 1) // 2)
    top = [(depth, index, True) for depth, index in enumerate(order[:deepest])]
    return top + [(depth, index, False) for depth, index in enumerate(order[::-1][:deepest])]


def _signs(page: Page, line: Line, depth: int, at_top: bool) -> list[tuple[object, ...]]:
    """What a line has in common with the same header or footer on other pages."""
    if not 0 < len(line.text) <= WIDEST:
        return []
    text = re.sub(r"\d+", "#", line.text.casefold())
    edge = round(line.middle / page.height * 50) if page.height else depth
    signs: list[tuple[object, ...]] = [(at_top, text, edge + near) for near in (0, 1)]
    if number := NUMBER.fullmatch(line.text):
        signs.append((at_top, int(number[1]) - page.number))
    return signs
