"""The pages on which all words of a quote stand, in any order: readers set the cells of a table in different orders."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from rag.core.types import Block, Document
from rag.documents.anchors.quote_pieces import SHARE, Cover, tiled
from rag.documents.anchors.quote_windows import windows
from rag.documents.anchors.reduced_text import Reduced, plain, reduced

HELD = 0.98
"""The least share of the words of a quote on a page, weighted by rarity. All numbers must be there, as often as in the quote."""
PART = re.compile(r"\d+|[^\W\d_]+")
WORD = re.compile(r"\d+|[^\W\d_]+(?:[-\u2010-\u2015\u2212\u00ad\x02]\s*[^\W\d_]+)*")
"""A run of digits, or a word; parts that a hyphen or a dash joins are one word, also across lines."""

Parts = tuple[str, ...]
Borders = tuple[int, int]
"""The offsets [start, end) of a part of a text."""


def page_borders(blocks: Sequence[Block]) -> dict[int, Borders]:
    """The borders of every page, by its number."""
    borders: dict[int, Borders] = {}
    for block in blocks:
        if block.page:
            start, end = borders.get(block.page, (block.start, block.end))
            borders[block.page] = min(start, block.start), max(end, block.end)
    return borders


def tiled_in(quote: str, text: Reduced, borders: Borders) -> Cover:
    """The pieces of a quote within the borders of a page."""
    low, high = (bisect_left(text.places, border) for border in borders)
    return tiled(reduced(quote), text, low, high)


def standing(document: Document, quote: str, shown: str, text: Reduced) -> tuple[list[Cover], bool]:
    """The pages with all words and most pieces of a quote, and whether its words are somewhere together.

    `shown` is the text with HOLEs for redactions, `text` the same reduced. Together: on one page or on two in a row, and in a
    document without pages in one window of it.
    """
    pages = tuple(page_borders(document.blocks).values())
    wanted = _words(quote)
    if not pages:
        parts = tuple(text.offsets(*window) for window in windows(reduced(quote).text, text.text))
        return [], any(_held(wanted, [counts], [counts]) for counts in _counts(shown, parts))
    counts = _counts(shown, pages)
    alone = [border for border, words in zip(pages, counts, strict=True) if _held(wanted, [words], counts)]
    covers = [cover for border in alone if (cover := tiled_in(quote, text, border)).share >= SHARE]
    return covers, bool(alone) or any(_held(wanted, pair, counts) for pair in zip(counts, counts[1:], strict=False))


def _words(text: str) -> Counter[Parts]:
    found = (tuple(filter(None, map(plain, PART.findall(match[0])))) for match in WORD.finditer(text))
    return Counter(filter(None, found))


@lru_cache(maxsize=8)
def _counts(text: str, parts: tuple[Borders, ...]) -> list[Counter[str]]:
    """The words of parts of a text, joined words also by their parts."""
    counts = []
    for start, end in parts:
        held = Counter[str]()
        for word, times in _words(text[start:end]).items():
            held.update(dict.fromkeys({"".join(word), *word}, times))
        counts.append(held)
    return counts


def _held(wanted: Counter[Parts], counts: Sequence[Counter[str]], pages: Sequence[Counter[str]]) -> bool:
    """Whether some parts hold together all numbers and HELD of the words; the rarity is that over the pages."""
    lacking = Counter[str]()
    for word, times in wanted.items():
        if sum(held["".join(word)] for held in counts) < times:
            lacking.update({part: gone for part in word if (gone := times - sum(held[part] for held in counts)) > 0})
    if not wanted or any(word.isdecimal() for word in lacking):
        return False
    whole = Counter({"".join(word): times for word, times in wanted.items()})
    return not lacking or _weight(lacking, pages) <= (1 - HELD) * _weight(whole, pages)


def _weight(words: Counter[str], pages: Sequence[Counter[str]]) -> float:
    held = {word: sum(word in page for page in pages) for word in words}
    return math.fsum(times * math.log(1 + (len(pages) - held[word] + 0.5) / (held[word] + 0.5)) for word, times in words.items())
