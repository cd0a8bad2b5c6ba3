"""The page of a place in a text, from its blocks."""

from bisect import bisect_right
from collections.abc import Sequence

from rag.core.records import Block


def page_at(blocks: Sequence[Block], place: int) -> int:
    """The page, from 1, of the character at `place`; 0 for a text without pages."""
    paged = [block for block in blocks if block.page]
    if not paged:
        return 0
    within = [block.page for block in paged if block.start <= place < block.end]
    if within:
        return within[-1]
    return paged[max(0, bisect_right(paged, place, key=lambda block: block.start) - 1)].page
