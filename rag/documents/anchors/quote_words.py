"""The pages on which all words of a quote stand, in any order: readers set the cells of a table in different orders."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from rag.core.types import Block, Document
from rag.documents.anchors.quote_pieces import SHARE, Cover, tiled
from rag.documents.anchors.quote_windows import windows
from rag.documents.anchors.reduced_text import Reduced, plain, reduced

HELD = 0.98
"""The least share of the words of a quote on a page, weighted by rarity. All its numbers must be there, and as often."""
LONE, COMMON = 16, 2
"""Of LONE numbers one with up to COMMON digits may stand on the page without either of its neighbours in the quote."""
PIECE = 64
"""A page has a quote in one stretch and one more for each PIECE characters of it, at most."""
WORD = re.compile(r"(?P<number>\d+(?:[.,]\d+)*)|[^\W\d_]+(?:[-\u2010-\u2015\u2212\u00ad\x02]\s*[^\W\d_]+)*")
"""A number, or a word; parts that a hyphen or a dash joins are one word, also across lines."""
PART = re.compile(r"[^\W_]+")

Borders = tuple[int, int]
"""The offsets [start, end) of a part of a text."""


@dataclass(frozen=True, slots=True)
class Word:
    """A number, or a word without case, accents, hyphens and dashes, with its parts."""

    plain: str
    parts: tuple[str, ...]
    is_number: bool


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
    """The pages on which a quote stands in another order, and whether its words are somewhere together.

    `shown` is the text with HOLEs for redactions, `text` the same reduced. Such a page has all words, and SHARE of the quote in
    few pieces. Together: on one page or on two in a row, and in a document without pages in one window of it.
    """
    pages = tuple(page_borders(document.blocks).values())
    parts = pages or tuple(text.offsets(*window) for window in windows(reduced(quote).text, text.text))
    counts, frequency = _counts(shown, parts)
    row = _words(quote)
    words = [(word, times, _rarity(word, frequency, len(parts))) for word, times in Counter(row).items()]
    words.sort(key=lambda each: (each[0].is_number, each[2]), reverse=True)
    alone = [border for border, held in zip(parts, counts, strict=True) if _held(words, [held])]
    likely = (tiled_in(quote, text, border) for border in alone if pages and _neighboured(row, _words(shown[slice(*border)])))
    covers = [cover for cover in likely if cover.share >= SHARE and len(cover.stretches()) <= 1 + len(quote) / PIECE]
    return covers, bool(alone) or (bool(pages) and any(_held(words, pair) for pair in pairwise(counts)))


def _words(text: str) -> list[Word]:
    found = []
    for match in WORD.finditer(text):
        parts = tuple(filter(None, map(plain, PART.findall(match[0].lower()))))
        number = match["number"]
        if parts:
            found.append(Word(number.replace(",", "") if number else "".join(parts), parts, bool(number)))
    return found


@lru_cache(maxsize=8)
def _counts(text: str, parts: tuple[Borders, ...]) -> tuple[list[Counter[str]], Counter[str]]:
    """The words of parts of a text, joined words also by their parts; and the number of parts with each word."""
    rows = ([{word.plain} | set(() if word.is_number else word.parts) for word in _words(text[slice(*part)])] for part in parts)
    counts = [Counter(chain.from_iterable(row)) for row in rows]
    return counts, Counter(chain.from_iterable(counts))


def _rarity(word: Word, frequency: Counter[str], parts: int) -> float:
    held = frequency[word.plain]
    return math.log(1 + (parts - held + 0.5) / (held + 0.5))


def _held(words: Sequence[tuple[Word, int, float]], counts: Sequence[Counter[str]]) -> bool:
    """Whether some parts hold together all numbers of a quote and HELD of its words; numbers and rare words come first."""
    spare = (1 - HELD) * math.fsum(times * rarity for _, times, rarity in words)
    for word, times, rarity in words:
        most = max(sum(held[word.plain] for held in counts), min(sum(held[part] for held in counts) for part in word.parts))
        if most < times:
            spare -= (times - most) * rarity
            if spare < 0 or word.is_number:
                return False
    return bool(words)


def _neighboured(quote: Sequence[Word], page: Sequence[Word]) -> bool:
    """Whether the short numbers of a quote have a neighbour of theirs on a page; LONE says how many need not."""
    near = {frozenset((one.plain, other.plain)) for one, other in pairwise(page)}
    rows = [(word, quote[max(at - 1, 0) : at + 2]) for at, word in enumerate(quote) if word.is_number]
    short = [(word, row) for word, row in rows if len(word.plain) <= COMMON]
    lone = sum(not any(frozenset((word.plain, other.plain)) in near for other in row) for word, row in short)
    return LONE * lone <= len(rows)
