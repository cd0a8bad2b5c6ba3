"""Citation markers in answers: `[2]`, `[1, 3]`, `[2-4]` or `[Source 2]`; what they cite, and where they stand.

What stands in code, as the index of `rows[2]` does, is no marker, and neither is the text of a link, `[2](…)`, or a year.
Offsets count Unicode code points, end exclusive.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.edits import Cut, Edited
from rag.quotes import quoted, section_of
from rag.records import Answer, Chunk, Ranking, Span
from rag.sentences import Piece, blocks, is_heading, sentences

NUMBERS = r"\d{1,3}(?:\s*[-–]\s*\d{1,3})?"
MARKER = re.compile(rf"\[\s*(?:(?:sources?|contexts?)\s+)?({NUMBERS}(?:\s*[,;]\s*{NUMBERS})*)\s*\](?!\()", re.IGNORECASE)
NUMBER = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
CODE = re.compile(r"(`{3,}).*?(?:\1|\Z)|(?<!`)(``?)(?!`)[^\n]*?(?<!`)\2(?!`)", re.DOTALL)
"""Fenced code, and code within a line."""
ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
"""What begins an item of a list."""
BLANKS = " \t\u00a0"


@dataclass(frozen=True, slots=True)
class Marker:
    """The characters [start, end) of a text, and the numbers that they name."""

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a text, the characters [start, end) of it, and the markers in it or right behind it."""

    start: int
    end: int
    markers: tuple[Marker, ...] = ()

    def cites(self, contexts: int) -> tuple[int, ...]:
        """The numbers of contexts that the sentence cites, in order, each once; numbers that no context has are left out."""
        numbers = (number for marker in self.markers for number in marker.numbers)
        return tuple(dict.fromkeys(number for number in numbers if 1 <= number <= contexts))


@dataclass(frozen=True, slots=True)
class Citation:
    """The marker at [start, end) of a reply cites context `number`, the characters `span` of a document, for `sentence`.

    `quote` are the words in it that the sentence rests on (`rag.quotes`), `section` the headings above these.
    """

    number: int
    span: Span
    start: int
    end: int
    sentence: Piece
    quote: Span
    section: str


def markers(text: str) -> list[Marker]:
    """All markers of a text, in order, whatever they cite."""
    code = [found.span() for found in CODE.finditer(text)] if "`" in text else []
    starts = [start for start, _ in code]

    def in_code(place: int) -> bool:
        before = bisect_right(starts, place)
        return before > 0 and place < code[before - 1][1]

    return [Marker(*found.span(), tuple(_named(found[1]))) for found in MARKER.finditer(text) if not in_code(found.start())]


def cited(text: str, contexts: int) -> tuple[int, ...]:
    """The numbers of contexts that `text` cites, in the order of first mention; numbers that no context has are left out."""
    return Said(0, len(text), tuple(markers(text))).cites(contexts)


def without_markers(text: str) -> str:
    """A text without its markers and the blanks before them."""
    return Edited.of(text, [Cut(_blanks_before(text, marker.start), marker.end) for marker in markers(text)]).text


def unmarked(text: str) -> str:
    """As many characters, blanks where markers stood: places in the text stay what they were."""
    return Edited.of(text, [Cut(marker.start, marker.end, " " * (marker.end - marker.start)) for marker in markers(text)]).text


def to_nothing(text: str, contexts: int) -> list[tuple[Marker, str]]:
    """Markers that name a number which no context has, each with what is to stand there: the numbers that there are, if any.

    One that goes as a whole begins with the blanks before it.
    """
    found = []
    for marker in markers(text):
        kept = [number for number in marker.numbers if 1 <= number <= contexts]
        if len(kept) < len(marker.numbers):
            start = marker.start if kept else _blanks_before(text, marker.start)
            found.append((Marker(start, marker.end, marker.numbers), f"[{', '.join(map(str, kept))}]" if kept else ""))
    return found


def said(text: str) -> list[Said]:
    """The sentences of a text with their markers, in order; headings are none, and the mark of a list item is no part of one.

    Markers behind a full stop belong to the sentence that it ends, those before the first sentence of a line to that one, and
    those on lines of their own to the sentence before. Markers at its edges are no part of a sentence.
    """
    plain, standing = unmarked(text), markers(text)
    places = [marker.start for marker in standing]
    found: list[Said] = []
    for start, stop in blocks(text):
        if is_heading(text, start):
            continue
        pieces = list(_pieces(plain, start, stop))
        own = standing[bisect_left(places, start) : bisect_left(places, stop)]
        if pieces:
            found += _owning(pieces, own)
        elif found:
            found[-1] = Said(found[-1].start, found[-1].end, (*found[-1].markers, *own))
    return found


def citations(text: str, contexts: Ranking) -> list[Citation]:
    """Everything that a reply cites, in order, one entry per number of a marker; markers to nothing are left out."""
    return [
        _citation(text, number, contexts[number - 1].chunk, marker, (sentence.start, sentence.end))
        for sentence in said(text)
        for marker in sentence.markers
        for number in marker.numbers
        if 1 <= number <= len(contexts)
    ]


def _citation(text: str, number: int, chunk: Chunk, marker: Marker, sentence: Piece) -> Citation:
    quote = quoted(without_markers(text[slice(*sentence)]), chunk)
    return Citation(number, chunk.span, marker.start, marker.end, sentence, quote, section_of(quote, chunk))


def sections_of(answer: Answer) -> list[str]:
    """For each context the sections of the words that an answer cites from it, joined by `; `; its own if it is not cited."""
    told = [dict[str, None]() for _ in answer.contexts]
    for one in citations(answer.reply.text, answer.contexts):
        told[one.number - 1][one.section] = None
    rows = zip(told, answer.contexts, strict=True)
    return ["; ".join(filter(None, some)) if some else hit.chunk.section for some, hit in rows]


def _pieces(plain: str, start: int, stop: int) -> Iterator[Piece]:
    """The sentences of a block whose markers are blanked out, without the mark of a list item."""
    start += len(plain[start:stop]) - len(plain[start:stop].lstrip())
    item = ITEM.match(plain, start, stop)
    for begin, end in sentences(plain, (item.end() if item else start, stop)):
        words = plain[begin:end]
        if words.strip():
            yield begin + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())


def _owning(pieces: Sequence[Piece], standing: Sequence[Marker]) -> list[Said]:
    stops = [*(start for start, _ in pieces[1:]), standing[-1].end if standing else 0]
    begins = [0, *(start for start, _ in pieces[1:])]
    places = [marker.start for marker in standing]
    return [
        Said(start, end, tuple(standing[bisect_left(places, begin) : bisect_left(places, stop)]))
        for (start, end), begin, stop in zip(pieces, begins, stops, strict=True)
    ]


def _named(numbers: str) -> Iterator[int]:
    """The numbers of a marker one by one, those of a range from its first to its last."""
    for found in NUMBER.finditer(numbers):
        first = int(found[1])
        yield from range(first, max(first, int(found[2] or first)) + 1)


def _blanks_before(text: str, place: int) -> int:
    while place and text[place - 1] in BLANKS:
        place -= 1
    return place
