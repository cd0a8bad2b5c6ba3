"""The fate of a quote in a document that a parser or a redactor made: exact, pieced, or lost by one of them.

A wrong place is worse than a lost one: a quote with several places is lost unless `start` and `end` or a page decide.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from rag.core.errors import DataError
from rag.core.pages import page_at
from rag.core.records import Anchor, Document, Fate, Redaction, Span
from rag.documents.quote_pieces import LENGTHY, SHARE, Cover, candidates, covers, tiled
from rag.documents.reduced_text import EDGE, HOLE, Reduced, reduced
from rag.documents.rendered import occurrences, rendered

CONTEXT = 8
"""Characters next to a value by which a quote is laid over it."""
NEAR = 200
"""Characters around a place in which the exact characters of a quote are searched."""
INLINE = 12
"""Reduced characters that may be between pieces within a line, such as the mark of a footnote."""
BREAK = re.compile(r"\n|\t|\||  ")
SEVERAL = "the quote has several places, and no page decides"
MISSING = "the quote is not in the text"

Dropped = Sequence[tuple[str, str]]
"""What a loader dropped from a document as noise: rules and texts."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote as the golden set has it: `place` are `start` and `end` in the text before redaction, `page` counts from 1."""

    text: str
    place: tuple[int, int] | None = None
    page: int = 0


def is_parsed(document: Document, dropped: Dropped = ()) -> bool:
    """Whether the text of a document may differ from that of its file; so may one without text, of a scanned page."""
    if document.blocks or document.redactions or dropped:
        return True
    return not document.text.strip() and PurePosixPath(document.doc_id).suffix.lower() not in ("", ".md", ".txt")


def resolve(document: Document, quoted: Quoted, where: str, dropped: Dropped = ()) -> Anchor:
    """Anchor a quote in a parsed document; DataError for an empty quote."""
    if not quoted.text:
        raise DataError(where, "the quote is empty", "quote the words that hold the evidence")
    if found := _exact(document, quoted):
        return _anchor(document, quoted, "exact", [found])
    masked = reduced(_masked(document.text, document.redactions))
    places = [place for place in covers(reduced(quoted.text), masked) if _breaks(document.text, masked, place)]
    chosen = _chosen(document, quoted, [_on_page(document, quoted, masked, place) for place in places], masked)
    if chosen:
        spans = [masked.offsets(*stretch) for stretch in chosen.stretches()]
        same = _same(document.text, quoted.text, spans[0][0], spans[-1][1])
        return _anchor(document, quoted, "exact" if same else "pieced", [same] if same else spans)
    if places:
        return lost(document.doc_id, quoted, "parser", SEVERAL)
    fate, rule = _cause(document, quoted, masked, dropped)
    found = _laid_over(document, quoted) if fate == "redaction" and not document.blocks else None
    return lost(document.doc_id, quoted, fate, rule, Span(document.doc_id, *found) if found else None)


def _anchor(document: Document, quoted: Quoted, fate: Fate, places: Sequence[tuple[int, int]]) -> Anchor:
    spans = tuple(Span(document.doc_id, *place) for place in places)
    original = None
    if not document.blocks and fate == "exact":
        original = Span(document.doc_id, *(_before(document.redactions, place) for place in places[0]))
    return Anchor(document.doc_id, spans, fate, original or _digest(quoted))


def lost(doc_id: str, quoted: Quoted, fate: Fate, rule: str, original: Span | None = None) -> Anchor:
    """A quote without a place; `original` is its place in the text of the file, if that is known."""
    return Anchor(doc_id, (), fate, original or _digest(quoted), rule, len(quoted.text))


def _digest(quoted: Quoted) -> str:
    return hashlib.sha256(f"{quoted.text}\0{quoted.place}\0{quoted.page}".encode()).hexdigest()[:16]


@lru_cache(maxsize=128)
def _masked(text: str, redactions: tuple[Redaction, ...]) -> str:
    """The text with HOLEs in the place of the characters of placeholders."""
    pieces, last = list[str](), 0
    for each in redactions:
        pieces += [text[last : each.start], HOLE * (each.end - each.start)]
        last = each.end
    return "".join([*pieces, text[last:]])


@lru_cache(maxsize=128)
def _holed(text: str, redactions: tuple[Redaction, ...]) -> str:
    """The text before redaction, with HOLEs for the characters of values."""
    pieces, last = list[str](), 0
    for each in redactions:
        pieces += [text[last : each.start], HOLE * each.length]
        last = each.end
    return "".join([*pieces, text[last:]])


def _before(redactions: Sequence[Redaction], place: int) -> int:
    """A place outside of placeholders, in the text before redaction."""
    return place + sum(each.length - (each.end - each.start) for each in redactions if each.end <= place)


def _after(redactions: Sequence[Redaction], place: int) -> int:
    """A place outside of values in the text before redaction, in the text."""
    shift = 0
    for each in redactions:
        if place + shift < each.start + each.length:
            break
        shift += each.end - each.start - each.length
    return place + shift


def _exact(document: Document, quoted: Quoted) -> tuple[int, int] | None:
    """The one place where the characters of a quote are, numbers whole; None for no or several places."""
    text, size = document.text, len(quoted.text)
    if quoted.place and quoted.place[0] >= 0:
        start = _after(document.redactions, quoted.place[0])
        if text[start : start + size] == quoted.text:
            return start, start + size
    starts = [at for at in occurrences(text, quoted.text, 50) if not (_cuts(text, at) or _cuts(text, at + size))]
    if len(starts) > 1 and quoted.page:
        starts = [at for at in starts if page_at(document.blocks, at) == quoted.page]
    return (starts[0], starts[0] + size) if len(starts) == 1 else None


def _cuts(text: str, place: int) -> bool:
    """Whether a place is inside a number."""
    before, after = text[max(place - 2, 0) : place], text[place : place + 2]
    if not (before and after):
        return False
    if after[0] in ".,":
        return before[-1].isdigit() and after[1:].isdigit()
    return after[0].isdigit() and (before[-1].isdigit() or (before[-1] in ".," and before[:-1].isdigit()))


def _same(text: str, quote: str, start: int, end: int) -> tuple[int, int] | None:
    """The place of a quote near [start, end) as a reader would copy it; None if the text differs in letters or marks."""
    low = max(start - NEAR, 0)
    shown = rendered(text[low : end + NEAR]).places(quote)
    return (low + shown[0][0], low + shown[0][1]) if len(shown) == 1 else None


def _breaks(text: str, masked: Reduced, cover: Cover) -> bool:
    """Whether a short quote is interrupted only between lines or cells: other words within a line make another sentence."""
    tiles = sorted(cover.tiles)
    if max(place + size for place, _, size in tiles) >= LENGTHY:
        return True
    for (_, at, size), (_, beyond, _) in pairwise(tiles):
        end = at + size
        if 0 <= beyond - end <= INLINE:
            continue
        edges = [(masked.places[end - 1] + 1, masked.places[end] if end < len(masked.places) else len(text))]
        edges.append((masked.places[beyond - 1] + 1 if beyond else 0, masked.places[beyond]))
        if not all(BREAK.search(text, *edge) or edge[1] == len(text) or not edge[0] for edge in edges):
            return False
    return True


def _on_page(document: Document, quoted: Quoted, text: Reduced, place: Cover) -> Cover:
    """The pieces on one page, if they are enough: words of a quote may also be in the header of the next page."""
    pages = _pages(document, text, place)
    if len(pages) < 2:
        return place
    page = quoted.page if quoted.page in pages else pages.most_common(1)[0][0]
    blocks = [block for block in document.blocks if block.page == page]
    borders = min(block.start for block in blocks), max(block.end for block in blocks)
    low, high = (_at(text, border) for border in borders)
    alone = tiled(reduced(quoted.text), text, low, high)
    return alone if alone.enough else place


def _at(text: Reduced, place: int) -> int:
    """The first reduced character at or after a place of the source."""
    low, high = 0, len(text.places)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if text.places[middle] < place else (low, middle)
    return low


def _pages(document: Document, text: Reduced, place: Cover) -> Counter[int]:
    """The reduced characters of pieces by page."""
    pages: Counter[int] = Counter()
    for _, at, size in place.tiles:
        pages[page_at(document.blocks, text.places[at])] += size
    return pages


def _chosen(document: Document, quoted: Quoted, places: Sequence[Cover], text: Reduced) -> Cover | None:
    """The only place, or the only one that has most of its characters on the page of the quote."""
    if len(places) > 1 and quoted.page:
        places = [place for place in places if _pages(document, text, place).most_common(1)[0][0] == quoted.page]
    return places[0] if len(places) == 1 else None


def _laid_over(document: Document, quoted: Quoted) -> tuple[int, int] | None:
    """The place, in the text before redaction, where a quote touches a value and fits all other characters."""
    text, quote, redactions = _holed(document.text, document.redactions), quoted.text, document.redactions
    if quoted.place and _fits(text, quote, quoted.place[0]) and len(quote) == quoted.place[1] - quoted.place[0]:
        return quoted.place
    end = 0
    for each in redactions:
        start = _before(redactions, each.start)
        end = start + each.length
        starts = {start - at for at in _after_context(quote, text[max(start - CONTEXT, 0) : start])}
        starts |= {end - at for at in _before_context(quote, text[end : end + CONTEXT])}
        if each.length == len(quote):
            starts.add(start)
        for place in sorted(starts):
            if place < end and place + len(quote) > start and _fits(text, quote, place):
                return place, place + len(quote)
    return None


def _after_context(quote: str, context: str) -> list[int]:
    """The places of a quote right behind a context, or behind the end of it that is at the begin of the quote."""
    begins = [size for size in range(1, len(context) + 1) if quote.startswith(context[-size:])]
    return begins + [at + len(context) for at in occurrences(quote, context, 50)] if context else []


def _before_context(quote: str, context: str) -> list[int]:
    """The places of a quote right before a context, or before the begin of it that is at the end of the quote."""
    ends = [len(quote) - size for size in range(1, len(context) + 1) if quote.endswith(context[:size])]
    return ends + occurrences(quote, context, 50) if context else []


def _fits(text: str, quote: str, place: int) -> bool:
    """Whether a quote lies at a place of a text with HOLEs and touches one."""
    part = text[place : place + len(quote)] if place >= 0 else ""
    return len(part) == len(quote) and HOLE in part and all(a in (HOLE, b) for a, b in zip(part, quote, strict=True))


def _cause(document: Document, quoted: Quoted, text: Reduced, dropped: Dropped) -> tuple[Fate, str]:
    """What lost a quote, and the rules: a redaction or noise if the quote would be in the text without them."""
    if place := _laid_over(document, quoted):
        starts = [(_before(document.redactions, each.start), each) for each in document.redactions]
        touched = (each.rule for start, each in starts if start < place[1] and start + each.length > place[0])
        return "redaction", ", ".join(dict.fromkeys(touched))
    noise = [(rule, reduced(part)) for rule, part in dropped]
    quote = reduced(quoted.text)
    holes = {each.start: each for each in document.redactions}
    for at in (at for at, place in enumerate(text.places) if text.text[at] == HOLE and place in holes) if holes else ():
        if rules := _around(quote.text, text, at, holes):
            return "redaction", ", ".join(dict.fromkeys(rules))
    if rule := next((rule for rule, part in noise if covers(quote, part)), ""):
        return "noise", rule
    for cover in candidates(quote, text) if document.redactions or noise else ():
        gaps = _Gaps(document, quote, text, noise)
        if rules := gaps.rules(cover):
            return ("redaction" if gaps.redacted else "noise"), ", ".join(rules)
    return "parser", MISSING


def _around(quote: str, text: Reduced, at: int, holes: Mapping[int, Redaction]) -> list[str]:
    """The rules of the values in a reduced quote that lies over the placeholder at `at`; empty if it does not."""
    for before in range(min(len(quote), at), -1, -1):
        if text.text.startswith(quote[:before], at - before) and HOLE not in text.text[at - before : at]:
            rules, rest = _behind(quote[before:], text, at, holes)
            if rules and before + rest >= CONTEXT // 2:
                return rules
    return []


def _behind(quote: str, text: Reduced, at: int, holes: Mapping[int, Redaction]) -> tuple[list[str], int]:
    """The rules of the values in a quote that begins inside the one at `at`, and the number of its other characters."""
    hole = holes[text.places[at]]
    following = text.text.find(HOLE, at + 1)
    for size in range(min(3 * hole.length, len(quote)), -1, -1):
        rest = quote[size:]
        if size - quote.count(EDGE, 0, size) > hole.length:
            continue
        shared = len(rest) if following < 0 else min(len(rest), following - at - 1)
        if not (rest or size) or not text.text.startswith(rest[:shared], at + 1):
            continue
        if shared == len(rest):
            return [hole.rule], shared
        rules, more = _behind(rest[shared:], text, following, holes) if shared else ([], 0)
        if rules:
            return [hole.rule, *rules], shared + more
    return [], 0


@dataclass
class _Gaps:
    """The parts of a quote between its pieces, explained by placeholders and dropped texts; `redacted`: by a placeholder."""

    document: Document
    quote: Reduced
    text: Reduced
    noise: Sequence[tuple[str, Reduced]]
    redacted: bool = False

    def rules(self, cover: Cover) -> list[str]:
        """The rules that explain why the quote is not in the text; empty if parts remain."""
        size, rules = len(self.quote.text), list[str]()
        tiles = [(0, -1, 0), *sorted(cover.tiles), (size, len(self.text.text) + 1, 0)]
        missing = bytearray(size)
        for (place, at, held), (following, beyond, _) in pairwise(tiles):
            first = place + held
            if first < following:
                found = self._placeholders(first, following, at + held, beyond) or self._dropped(first, following)
                missing[first:following] = bytes([not found]) * (following - first)
                rules += found
        enough = sum(missing) <= (1 - SHARE) * size and not any(missing[start] for start, _ in self.quote.numbers())
        return list(dict.fromkeys(rules)) if enough else []

    def _placeholders(self, first: int, last: int, after: int, before: int) -> list[str]:
        """The rules of the placeholders behind the piece before and in front of the next one, if their values have room."""
        ends = {after, before - 1}
        places = [self.text.places[at] for at in ends if 0 <= at < len(self.text.text) and self.text.text[at] == HOLE]
        holes = [each for each in self.document.redactions if each.start in places]
        start, end = self.quote.offsets(first, last)
        if not holes or end - start > sum(each.length for each in holes) + CONTEXT:
            return []
        self.redacted = True
        return [each.rule for each in holes]

    def _dropped(self, first: int, last: int) -> list[str]:
        part = self.quote.text[first:last]
        return [rule for rule, text in self.noise if part in text.text][:1]
