"""The fate of a quote in a document that a parser or a redactor made: exact, pieced, by its words, not placed, or lost.

A wrong place is worse than none: a quote with several places is not placed unless `start` and `end` or a page decide. Lost is
only a quote with words that the text does not have together.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from rag.core.errors import DataError
from rag.core.pages import page_at
from rag.core.roles import Redactor
from rag.core.types import Anchor, Document, Fate, Span
from rag.documents.anchors.lost_quotes import Quoted, after_redaction, before_redaction, cause_of, redacted_in
from rag.documents.anchors.quote_pieces import LENGTHY, Cover, covers
from rag.documents.anchors.quote_words import page_borders, standing, tiled_in
from rag.documents.anchors.reduced_text import Reduced, reduced
from rag.documents.anchors.rendered import occurrences, rendered

NEAR = 200
"""Characters around a place in which the exact characters of a quote are searched."""
INLINE = 12
"""Reduced characters that may be between pieces within a line, such as the mark of a footnote."""
BREAK = re.compile(r"\n|\t|\||  ")
SEVERAL = "the quote has several places, and no page decides"
APART = "its words are there, and not as one passage or on one page"


def is_parsed(document: Document) -> bool:
    """Whether the text of a document may differ from that of its file; so may one without text, of a scanned page."""
    if document.blocks or document.redactions:
        return True
    return not document.text.strip() and PurePosixPath(document.doc_id).suffix.lower() not in ("", ".md", ".txt")


def resolve(document: Document, quoted: Quoted, where: str, redactor: Redactor | None = None) -> Anchor:
    """Anchor a quote in a document that was parsed and redacted; DataError for an empty quote."""
    if not quoted.text:
        raise DataError(where, "the quote is empty", "quote the words that hold the evidence")
    if found := _exact(document, quoted):
        return _anchor(document, quoted, "exact", [found])
    shown = after_redaction(document.text, document.redactions).text
    masked = reduced(shown)
    covered = [cover for cover in covers(reduced(quoted.text), masked) if _breaks(document.text, masked, cover)]
    chosen = _chosen(document, quoted, [_on_page(document, quoted, masked, cover) for cover in covered], masked)
    if chosen and (rules := redacted_in(document, quoted, masked, chosen)):
        return lost(document.doc_id, quoted, "redaction", ", ".join(rules))
    if chosen:
        spans = [masked.offsets(*stretch) for stretch in chosen.stretches()]
        same = _same(document.text, quoted.text, spans[0][0], spans[-1][1])
        return _anchor(document, quoted, "exact" if same else "pieced", [same] if same else spans)
    if covered:
        return lost(document.doc_id, quoted, "unplaced", SEVERAL)
    fate, rule, place = cause_of(document, quoted, masked, redactor)
    pages, together = standing(document, quoted.text, shown, masked) if fate == "parser" else ([], False)
    if worded := _chosen(document, quoted, [page for page in pages if _breaks(document.text, masked, page)], masked):
        return _anchor(document, quoted, "words", [masked.offsets(*stretch) for stretch in worded.stretches()])
    if together:
        return lost(document.doc_id, quoted, "unplaced", SEVERAL if len(pages) > 1 else APART)
    in_file = Span(document.doc_id, *place) if place and not document.blocks else None
    return lost(document.doc_id, quoted, fate, rule, in_file)


def _anchor(document: Document, quoted: Quoted, fate: Fate, places: Sequence[tuple[int, int]]) -> Anchor:
    spans = tuple(Span(document.doc_id, *place) for place in places)
    original = None
    if not document.blocks and fate == "exact":
        original = Span(document.doc_id, *before_redaction(document.text, document.redactions).stretches(places)[0])
    return Anchor(document.doc_id, spans, fate, original or _digest(quoted))


def lost(doc_id: str, quoted: Quoted, fate: Fate, rule: str, original: Span | None = None) -> Anchor:
    """A quote without a place; `original` is its place in the text of the file, if that is known."""
    return Anchor(doc_id, (), fate, original or _digest(quoted), rule, len(quoted.text))


def _digest(quoted: Quoted) -> str:
    return hashlib.sha256(f"{quoted.text}\0{quoted.place}\0{quoted.page}".encode()).hexdigest()[:16]


def _exact(document: Document, quoted: Quoted) -> tuple[int, int] | None:
    """The one place where the characters of a quote are, numbers whole; None for no or several places."""
    text, size = document.text, len(quoted.text)
    if quoted.place and quoted.place[0] >= 0:
        ((start, _),) = after_redaction(text, document.redactions).stretches([quoted.place])
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
    alone = tiled_in(quoted.text, text, page_borders(document.blocks)[page])
    return alone if alone.enough else place


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
