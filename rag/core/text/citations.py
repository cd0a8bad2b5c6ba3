"""Citation markers in answers: `[2]`, `[1, 3]`, `[2-4]` or `[Source 2]`; what they cite, and where they stand.

What stands in code, as the index of `rows[2]` does, is no marker, and neither is the text of a link, `[2](…)`, or a year.
Offsets count Unicode code points, end exclusive.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.core.records import Answer, Ranking, Span
from rag.core.text.edits import Cut, Edited
from rag.core.text.quotes import quoted, section_of
from rag.core.text.sentences import Piece, blocks, is_heading, sentences

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
    """The characters [start, end) of a text, and the ranges of numbers, both ends included, that they name.

    A range stays a range: `[1-999]` names as many numbers as there are contexts, not 999.
    """

    start: int
    end: int
    ranges: tuple[tuple[int, int], ...]

    def numbers(self, contexts: int) -> Iterator[int]:
        """The numbers of contexts that the marker names, in its order; numbers that no context has are left out."""
        for first, last in self.ranges:
            yield from range(max(first, 1), min(last, contexts) + 1)

    def beyond(self, contexts: int) -> Iterator[str]:
        """The numbers that no context has: `0`, `9` or `9-12`."""
        for first, last in self.ranges:
            if first < 1:
                yield "0"
            low = max(first, contexts + 1)
            if low <= last:
                yield str(last) if low == last else f"{low}-{last}"


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of a text, the characters [start, end) of it, and the markers in it or right behind it."""

    start: int
    end: int
    markers: tuple[Marker, ...] = ()

    def cites(self, contexts: int) -> tuple[int, ...]:
        """The numbers of contexts that the sentence cites, in order, each once; numbers that no context has are left out."""
        return tuple(dict.fromkeys(number for marker in self.markers for number in marker.numbers(contexts)))


@dataclass(frozen=True, slots=True)
class Citation:
    """The marker at [start, end) of a reply cites context `number`, the characters `span` of a document, for `sentence`.

    `quote` are the words in it that the sentence rests on (`rag.core.text.quotes`), `section` the headings above these.
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

    return [Marker(*found.span(), _ranges(found[1])) for found in MARKER.finditer(text) if not in_code(found.start())]


def cited(text: str, contexts: int) -> tuple[int, ...]:
    """The numbers of contexts that `text` cites, in the order of first mention; numbers that no context has are left out."""
    return CitedSentence(0, len(text), tuple(markers(text))).cites(contexts)


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
        kept = list(marker.numbers(contexts))
        if any(marker.beyond(contexts)):
            start = marker.start if kept else _blanks_before(text, marker.start)
            found.append((Marker(start, marker.end, marker.ranges), f"[{', '.join(map(str, kept))}]" if kept else ""))
    return found


def cited_sentences(text: str) -> list[CitedSentence]:
    """The sentences of a text with their markers, in order; headings are none, and the mark of a list item is no part of one.

    Markers behind a full stop belong to the sentence that it ends, those before the first sentence of a line to that one, and
    those on lines of their own to the sentence before. Markers at its edges are no part of a sentence.
    """
    plain, standing = unmarked(text), markers(text)
    places = [marker.start for marker in standing]
    found: list[CitedSentence] = []
    for start, stop in blocks(text):
        if is_heading(text, start):
            continue
        pieces = list(_pieces(plain, start, stop))
        own = standing[bisect_left(places, start) : bisect_left(places, stop)]
        if pieces:
            found += _owning(pieces, own)
        elif found:
            found[-1] = CitedSentence(found[-1].start, found[-1].end, (*found[-1].markers, *own))
    return found


def citations(text: str, contexts: Ranking) -> list[Citation]:
    """Everything that a reply cites, in order, one entry per number of a marker; markers to nothing are left out."""
    found = []
    for sentence in cited_sentences(text):
        words, place = _words(text, sentence, contexts), (sentence.start, sentence.end)
        for marker in sentence.markers:
            for number in marker.numbers(len(contexts)):
                span = contexts[number - 1].chunk.span
                found.append(Citation(number, span, marker.start, marker.end, place, *words[number]))
    return found


def _words(text: str, sentence: CitedSentence, contexts: Ranking) -> dict[int, tuple[Span, str]]:
    """By number of a context: the words in it that a sentence rests on, and the headings above them."""
    plain = without_markers(text[sentence.start : sentence.end])
    chunks = {number: contexts[number - 1].chunk for number in sentence.cites(len(contexts))}
    quotes = {number: quoted(plain, chunk) for number, chunk in chunks.items()}
    return {number: (quote, section_of(quote, chunks[number])) for number, quote in quotes.items()}


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


def _owning(pieces: Sequence[Piece], standing: Sequence[Marker]) -> list[CitedSentence]:
    stops = [*(start for start, _ in pieces[1:]), standing[-1].end if standing else 0]
    begins = [0, *(start for start, _ in pieces[1:])]
    places = [marker.start for marker in standing]
    return [
        CitedSentence(start, end, tuple(standing[bisect_left(places, begin) : bisect_left(places, stop)]))
        for (start, end), begin, stop in zip(pieces, begins, stops, strict=True)
    ]


def _ranges(numbers: str) -> tuple[tuple[int, int], ...]:
    """The first and the last number of each part of a marker; one that runs backwards is its first number."""
    parts = ((int(found[1]), int(found[2] or found[1])) for found in NUMBER.finditer(numbers))
    return tuple((first, max(first, last)) for first, last in parts)


def _blanks_before(text: str, place: int) -> int:
    while place and text[place - 1] in BLANKS:
        place -= 1
    return place
