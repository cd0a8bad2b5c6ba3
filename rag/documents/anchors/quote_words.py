"""The pages on which all words of a quote stand, in any order: readers set the cells of a table in different orders."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise

from rag.core.types import Block, Document
from rag.documents.anchors.quote_pieces import LENGTHY, SHARE, SHORT_SHARE, Cover, tiled
from rag.documents.anchors.quote_windows import windows
from rag.documents.anchors.reduced_text import Reduced, plain, reduced

HELD = 0.98
"""The least share of the words of a quote on a page, weighted by rarity. All its numbers must be there, and as often."""
LONE, COMMON = 16, 2
"""Of LONE numbers one with up to COMMON digits may stand on the page without either of its neighbours in the quote."""
PIECE = 64
"""A page has a quote in one stretch and one more for each PIECE characters of it, at most."""
WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
HYPHENATED = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]\s*\n\s*(?=[^\W\d_])")

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
    """The pages on which a quote stands in another order, and whether any page has all of its words.

    `shown` is the text with HOLEs for redactions, `text` the same reduced. In a document without pages no quote stands; its
    words are searched in the windows that share most with it.
    """
    pages = tuple(page_borders(document.blocks).values())
    parts = pages or tuple(text.offsets(*window) for window in windows(reduced(quote).text, text.text))
    counts, frequency = _counts(shown, parts)
    words = _words(quote)
    rarity = {word: math.log(1 + (len(parts) - held + 0.5) / (held + 0.5)) for word in words for held in [frequency[word]]}
    alone = [borders for borders, held in zip(parts, counts, strict=True) if _holds(held, Counter(words), rarity)]
    likely = [borders for borders in alone if pages and _neighboured(words, _words(shown[slice(*borders)]))]
    share = SHARE if len(reduced(quote).text) >= LENGTHY else SHORT_SHARE
    covers = [tiled_in(quote, text, borders) for borders in likely]
    return [each for each in covers if each.share >= share and len(each.stretches()) <= 1 + len(quote) / PIECE], bool(alone)


def _words(text: str) -> list[str]:
    """The words without case and accents, and the numbers without commas; words are joined across line ends."""
    found = (plain(match[0].lower()) or match[0] for match in WORD.finditer(HYPHENATED.sub("", text)))
    return [word.replace(",", "") for word in found]


@lru_cache(maxsize=8)
def _counts(text: str, parts: tuple[Borders, ...]) -> tuple[list[Counter[str]], Counter[str]]:
    """The words of parts of a text, and the number of parts with each word."""
    counts = [Counter(_words(text[slice(*part)])) for part in parts]
    return counts, Counter(chain.from_iterable(counts))


def _holds(held: Counter[str], wanted: Counter[str], rarity: dict[str, float]) -> bool:
    """Whether a part holds all numbers of a quote and HELD of its words."""
    missing = wanted - held
    if not wanted or any(word[0].isdigit() for word in missing):
        return False
    weight, whole = (math.fsum(times * rarity[word] for word, times in each.items()) for each in (missing, wanted))
    return weight <= (1 - HELD) * whole


def _neighboured(quote: Sequence[str], page: Sequence[str]) -> bool:
    """Whether the short numbers of a quote have a neighbour of theirs on a page; LONE says how many need not."""
    near = set(map(frozenset, pairwise(page)))
    rows = [(word, quote[max(at - 1, 0) : at + 2]) for at, word in enumerate(quote) if word[0].isdigit()]
    lone = sum(len(word) <= COMMON and near.isdisjoint(frozenset((word, each)) for each in row) for word, row in rows)
    return LONE * lone <= len(rows)
