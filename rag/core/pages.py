"""The pages and the rectangles of places in a text, from its blocks. Blocks are in the order of their starts."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from rag.core.types import Block, Box


def page_at(blocks: Sequence[Block], place: int) -> int:
    """The page, from 1, of the character at `place`; 0 for a text without pages."""
    earlier = blocks[: bisect_right(blocks, place, key=lambda block: block.start)]
    within = (block.page for block in reversed(earlier) if block.page and place < block.end)
    nearest = (block.page for block in chain(reversed(earlier), blocks) if block.page)
    return next(chain(within, nearest), 0)


def pages_of(blocks: Sequence[Block], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last page, from 1, of the characters [start, end); None for a text without pages."""
    pages = [block.page for block in _touched(blocks, start, end) if block.page] or [page_at(blocks, start)]
    return (min(pages), max(pages)) if pages[0] else None


def boxes_of(blocks: Sequence[Block], start: int, end: int) -> Iterator[tuple[Block, Box]]:
    """The blocks that the characters [start, end) touch, once for each of their boxes; in a table its cells."""
    touched = [block for block in _touched(blocks, start, end) if block.boxes]
    cells = [block.start for block in touched if block.kind == "cell"]
    for block in touched:
        if block.kind != "table" or bisect_left(cells, block.start) == bisect_left(cells, block.end):
            yield from ((block, box) for box in block.boxes)


def figures(blocks: Sequence[Block], start: int, end: int) -> list[tuple[int, int]]:
    """The characters of [start, end) in figures: a text that a model wrote about a picture, not the author."""
    found = (block for block in _touched(blocks, start, end) if block.kind == "figure")
    return [(max(block.start, start), min(block.end, end)) for block in found if block.start < block.end]


def label(pages: tuple[int, int] | None) -> str:
    """Pages as a citation names them, `p. 3` or `pp. 3–4`; empty for None."""
    if pages is None:
        return ""
    first, last = pages
    return f"p. {first}" if first == last else f"pp. {first}–{last}"


def _touched(blocks: Sequence[Block], start: int, end: int) -> Iterator[Block]:
    until = blocks[: bisect_left(blocks, end, key=lambda block: block.start)]
    return (block for block in until if block.end > start)
