"""What lost a quote that is not in its text: a redaction or the parser."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from rag.core.roles import Redactor
from rag.core.text.edits import Cut, Edited
from rag.core.types import Document, Fate, Redaction
from rag.documents.anchors.quote_pieces import SHARE, Cover, candidates
from rag.documents.anchors.reduced_text import EDGE, HOLE, Reduced, reduced
from rag.documents.anchors.rendered import occurrences

CONTEXT = 8
"""The letters and digits of a quote that must be next to the placeholder of a value in it."""
AROUND = 200
"""Characters around a quote that a redactor is given with it."""
MISSING = "the quote is not in the text"


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote as the golden set has it: `place` are `start` and `end` in the text before redaction, `page` counts from 1."""

    text: str
    place: tuple[int, int] | None = None
    page: int = 0


@lru_cache(maxsize=128)
def before_redaction(text: str, redactions: tuple[Redaction, ...]) -> Edited:
    """The text before redaction, with HOLEs for the characters of values."""
    return Edited.of(text, [Cut(each.start, each.end, HOLE * each.length) for each in redactions])


@lru_cache(maxsize=128)
def after_redaction(text: str, redactions: tuple[Redaction, ...]) -> Edited:
    """The text made of that before redaction, with HOLEs for the characters of placeholders."""
    before = before_redaction(text, redactions)
    values = zip(before.moved(redactions), redactions, strict=True)
    return Edited.of(before.text, [Cut(value.start, value.end, HOLE * (each.end - each.start)) for value, each in values])


def _values(document: Document) -> tuple[Redaction, ...]:
    """The redactions of a document, at the places of their values in the text before redaction."""
    return before_redaction(document.text, document.redactions).moved(document.redactions)


def _laid_over(document: Document, quoted: Quoted, redactor: Redactor | None) -> tuple[int, int] | None:
    """The place, in the text before redaction, where a quote touches a value and fits all other characters.

    CONTEXT of these are letters and digits; or the redactor finds all values in the quote at that place, as it did in the file.
    The length of a value alone is no evidence: another one may be as long.
    """
    text, quote = before_redaction(document.text, document.redactions).text, quoted.text
    if quoted.place and _fits(text, quote, quoted.place[0]) and len(quote) == quoted.place[1] - quoted.place[0]:
        return quoted.place
    for value in _values(document):
        start, end = value.start, value.end
        starts = {start - at for at in _after_context(quote, text[max(start - CONTEXT, 0) : start])}
        starts |= {end - at for at in _before_context(quote, text[end : end + CONTEXT])}
        if value.length == len(quote):
            starts.add(start)
        for place in sorted(starts):
            touches = place < end and place + len(quote) > start and _fits(text, quote, place)
            if touches and (_shared(text, quote, place) >= CONTEXT or _finds(redactor, text, quote, place)):
                return place, place + len(quote)
    return None


def _shared(text: str, quote: str, place: int) -> int:
    """The number of letters and digits that a text has at the place of a quote, outside of values."""
    return sum(map(str.isalnum, text[place : place + len(quote)]))


def _finds(redactor: Redactor | None, text: str, quote: str, place: int) -> bool:
    """Whether a redactor finds all values in a quote if it is at a place of the text."""
    if redactor is None:
        return False
    low, end = max(place - AROUND, 0), place + len(quote)
    found = redactor.find(f"{text[low:place]}{quote}{text[end : end + AROUND]}")
    places = {low + at for first, last, _ in found for at in range(first, last)}
    return all(at in places for at in range(place, end) if text[at] == HOLE)


def _after_context(quote: str, context: str) -> list[int]:
    """The offsets in a quote right behind a context, or behind the last characters of it with which the quote begins."""
    begins = [size for size in range(1, len(context) + 1) if quote.startswith(context[-size:])]
    return begins + [at + len(context) for at in occurrences(quote, context, 50)] if context else []


def _before_context(quote: str, context: str) -> list[int]:
    """The offsets in a quote right before a context, or before the first characters of it with which the quote ends."""
    ends = [len(quote) - size for size in range(1, len(context) + 1) if quote.endswith(context[:size])]
    return ends + occurrences(quote, context, 50) if context else []


def _fits(text: str, quote: str, place: int) -> bool:
    """Whether a quote lies at a place of a text with HOLEs and touches one."""
    part = text[place : place + len(quote)] if place >= 0 else ""
    return len(part) == len(quote) and HOLE in part and all(a in (HOLE, b) for a, b in zip(part, quote, strict=True))


def cause_of(
    document: Document, quoted: Quoted, text: Reduced, redactor: Redactor | None
) -> tuple[Fate, str, tuple[int, int] | None]:
    """What lost a quote, the rules, and the place of the quote in the text before redaction, if it is known.

    It is a redaction if the quote would be in the text without it, else the parser.
    """
    place = _laid_over(document, quoted, redactor)
    if place:
        rules = [value.rule for value in _values(document) if value.start < place[1] and value.end > place[0]]
    else:
        rules = _rules(document, reduced(quoted.text), text) if document.redactions else []
    return ("redaction", ", ".join(dict.fromkeys(rules)), place) if rules else ("parser", MISSING, None)


def _rules(document: Document, quote: Reduced, text: Reduced) -> list[str]:
    """The rules of the values in a quote that a reader set in another way: in one piece, or else in several."""
    holes, gaps = {each.start: each for each in document.redactions}, _Gaps(document, quote, text)
    starts = (match.start() for match in re.finditer(HOLE, text.text))
    around = (_around(quote.text, text, at, holes) for at in starts if text.places[at] in holes)
    return next(filter(None, chain(around, map(gaps.rules, candidates(quote, text)))), [])


def redacted_in(document: Document, quoted: Quoted, text: Reduced, cover: Cover) -> list[str]:
    """The rules of the placeholders between the pieces of a quote that was found without its values."""
    return _Gaps(document, reduced(quoted.text), text).rules(cover) if document.redactions and cover.share < 1 else []


def _around(quote: str, text: Reduced, at: int, holes: Mapping[int, Redaction]) -> list[str]:
    """The rules of the values in a reduced quote that includes the placeholder at `at`; empty if it does not."""
    for before in range(min(len(quote), at), -1, -1):
        if text.text.startswith(quote[:before], at - before) and HOLE not in text.text[at - before : at]:
            rules, rest = _behind(quote[before:], text, at, holes)
            if rules and before + rest >= CONTEXT:
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


@dataclass(frozen=True)
class _Gaps:
    """The parts of a quote between its pieces, explained by placeholders."""

    document: Document
    quote: Reduced
    text: Reduced

    def rules(self, cover: Cover) -> list[str]:
        """The rules that explain why the quote is not in the text; empty if parts remain."""
        size, rules = len(self.quote.text), list[str]()
        tiles = [(0, -1, 0), *sorted(cover.tiles), (size, len(self.text.text) + 1, 0)]
        missing = bytearray(size)
        for (place, at, held), (following, beyond, _) in pairwise(tiles):
            first = place + held
            if first < following:
                found = self._placeholders(first, following, at + held, beyond)
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
        return [each.rule for each in holes]
