"""Citation markers in answers, `[2]`, `[1, 3]`, `[2-4]` or `[Source 2]`: their places, and the contexts that they cite.

Not markers are code, such as the index in `rows[2]`, the text of a link, `[2](…)`, and years.
Offsets count Unicode code points, end exclusive.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.core.pages import label, pages_of
from rag.core.text.edits import Cut, Edited
from rag.core.text.quotes import quoted, section_of
from rag.core.text.sentences import Piece, blocks, is_heading, sentences, trimmed
from rag.core.types import Answer, Chunk, Ranking, Span

NUMBERS = r"\d{1,3}(?:\s*[-–]\s*\d{1,3})?"
MARKER = re.compile(rf"\[\s*(?:(?:sources?|contexts?)\s+)?({NUMBERS}(?:\s*[,;]\s*{NUMBERS})*)\s*\](?!\()", re.IGNORECASE)
NUMBER = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
CODE = re.compile(r"(`{3,}).*?(?:\1|\Z)|(?<!`)(``?)(?!`)[^\n]*?(?<!`)\2(?!`)", re.DOTALL)
"""Fenced code, and code within a line."""
ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
"""The mark of a list item."""
BLANKS = " \t\u00a0"
ENDING = r"((?<=[^\W\d])[ \u00a0]|(?<=[.!?)”]) ?)\((\d{1,2})\)(?=[.!?\n(]|\s*\Z)"
NAMED = r"\(\d|(?i:\b(?:one|two|three|four|five|six|seven|eight|nine|ten|article|section|step|table|art\.|no\.) (?=\())"
OTHER_FORMS = {r"()【(\d{1,3})】": "【", r"()\[\^(\d{1,3})\]": r"\[\^", ENDING: NAMED}
"""Citations of other forms, with what is alike: `【1】`, `[^1]`, and `(1)` at the end of a sentence, but not in `five (5).`"""


@dataclass(frozen=True, slots=True)
class Marker:
    """The characters [start, end) of a text, and the ranges of numbers, both ends included, in them.

    A range stays a range: `[1-999]` names as many numbers as there are contexts, not 999.
    """

    start: int
    end: int
    ranges: tuple[tuple[int, int], ...]

    def numbers(self, contexts: int) -> Iterator[int]:
        """The numbers of contexts in the marker, in its order, without numbers that no context has."""
        for first, last in self.ranges:
            yield from range(max(first, 1), min(last, contexts) + 1)

    def beyond(self, contexts: int) -> Iterator[str]:
        """The numbers in the marker that no context has: `0`, `9` or `9-12`."""
        for first, last in self.ranges:
            if first < 1:
                yield "0"
            low = max(first, contexts + 1)
            if low <= last:
                yield str(last) if low == last else f"{low}-{last}"


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of a text, its characters [start, end), and the markers in it or directly behind it."""

    start: int
    end: int
    markers: tuple[Marker, ...] = ()

    def cites(self, contexts: int) -> tuple[int, ...]:
        """The numbers of contexts that the sentence cites, in order, each once, without numbers that no context has."""
        return tuple(dict.fromkeys(number for marker in self.markers for number in marker.numbers(contexts)))


@dataclass(frozen=True, slots=True)
class Citation:
    """The marker at [start, end) of a reply cites context `number`, the characters `span` of a document, for `sentence`.

    `quote` are its words for that sentence (`rag.core.text.quotes`), `section` the headings above them.
    """

    number: int
    span: Span
    start: int
    end: int
    sentence: Piece
    quote: Span
    section: str


def markers(text: str) -> list[Marker]:
    """All markers of a text, in order, with any numbers."""
    code = [match.span() for match in CODE.finditer(text)] if "`" in text else []
    starts = [start for start, _ in code]

    def in_code(place: int) -> bool:
        before = bisect_right(starts, place)
        return before > 0 and place < code[before - 1][1]

    return [Marker(*match.span(), _ranges(match[1])) for match in MARKER.finditer(text) if not in_code(match.start())]


def cited(text: str, contexts: int) -> tuple[int, ...]:
    """The numbers of contexts that `text` cites, in the order of first mention, without numbers that no context has."""
    return CitedSentence(0, len(text), tuple(markers(text))).cites(contexts)


def bracketed(text: str, contexts: int) -> str:
    """A text with `[1]` in place of `【1†source】`, and of `【1】`, `[^1]` or `(1)` where that can be nothing but a citation.

    It is one where there is no `[1]` and no code, and all that is alike has the number of a context.
    """
    text = re.sub(r"【(\d{1,3})†[^】\n]{0,80}】", r"[\1]", text)
    if "`" in text or markers(text):
        return text
    for form, alike in OTHER_FORMS.items():
        found = re.findall(form, text)
        if found and len(found) == len(re.findall(alike, text)) and all(1 <= int(number) <= contexts for _, number in found):
            return re.sub(form, r"\1[\2]", text)
    return text


def without_markers(text: str) -> str:
    """A text without its markers and the blanks before them."""
    return Edited.of(text, [Cut(_blanks_before(text, marker.start), marker.end) for marker in markers(text)]).text


def unmarked(text: str) -> str:
    """A text with markers replaced by blanks: offsets stay the same."""
    return Edited.of(text, [Cut(marker.start, marker.end, " " * (marker.end - marker.start)) for marker in markers(text)]).text


def to_nothing(text: str, contexts: int) -> list[tuple[Marker, str]]:
    """Markers with a number that no context has, each with its replacement: a marker of the other numbers, or nothing.

    A marker that is replaced by nothing includes the blanks before it.
    """
    replaced = []
    for marker in markers(text):
        valid = list(marker.numbers(contexts))
        if any(marker.beyond(contexts)):
            start = marker.start if valid else _blanks_before(text, marker.start)
            replaced.append((Marker(start, marker.end, marker.ranges), f"[{', '.join(map(str, valid))}]" if valid else ""))
    return replaced


def cited_sentences(text: str) -> list[CitedSentence]:
    """The sentences of a text with their markers, in order, without headings and without the marks of list items.

    A marker behind a full stop belongs to the sentence before it, one before the first sentence of a line to that sentence,
    and one on a line of its own to the previous sentence. The characters of a sentence exclude markers at its edges.
    """
    plain, found = unmarked(text), markers(text)
    places = [marker.start for marker in found]
    cited_so_far: list[CitedSentence] = []
    for start, stop in blocks(text):
        if is_heading(text, start):
            continue
        pieces = list(_pieces(plain, start, stop))
        own = found[bisect_left(places, start) : bisect_left(places, stop)]
        if pieces:
            cited_so_far += _with_markers(pieces, own)
        elif cited_so_far:
            cited_so_far[-1] = replace(cited_so_far[-1], markers=(*cited_so_far[-1].markers, *own))
    return cited_so_far


def citations(text: str, contexts: Ranking) -> list[Citation]:
    """The citations of a reply, in order, one per number of a marker, without numbers that no context has."""
    entries = []
    for sentence in cited_sentences(text):
        words, place = _words(text, sentence, contexts), (sentence.start, sentence.end)
        for marker in sentence.markers:
            for number in marker.numbers(len(contexts)):
                span = contexts[number - 1].chunk.span
                entries.append(Citation(number, span, marker.start, marker.end, place, *words[number]))
    return entries


def _words(text: str, sentence: CitedSentence, contexts: Ranking) -> dict[int, tuple[Span, str]]:
    """By number of a context: its words for a sentence, and the headings above them."""
    plain = without_markers(text[sentence.start : sentence.end])
    chunks = {number: contexts[number - 1].chunk for number in sentence.cites(len(contexts))}
    quotes = {number: quoted(plain, chunk) for number, chunk in chunks.items()}
    return {number: (quote, section_of(quote, chunks[number])) for number, quote in quotes.items()}


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """The sections of a passage, joined by `; `, and its first and last page, None for a document without pages."""

    section: str
    pages: tuple[int, int] | None

    def __str__(self) -> str:
        """`Annual leave · p. 3`; empty if neither is known."""
        return " · ".join(filter(None, (self.section, label(self.pages))))


def place_of(chunk: Chunk) -> CitedPlace:
    """The section and the pages of a whole chunk."""
    return CitedPlace(chunk.section, pages_of(chunk.blocks, chunk.span.start, chunk.span.end))


def places_of(answer: Answer) -> list[CitedPlace]:
    """For each context the sections and pages of its cited words; those of the chunk if it is not cited."""
    cited_words: list[list[Citation]] = [[] for _ in answer.contexts]
    for citation in citations(answer.reply.text, answer.contexts):
        cited_words[citation.number - 1].append(citation)
    return [_place(hit.chunk, words) for hit, words in zip(answer.contexts, cited_words, strict=True)]


def _place(chunk: Chunk, words: Sequence[Citation]) -> CitedPlace:
    if not words:
        return place_of(chunk)
    found = [pages_of(chunk.blocks, each.quote.start, each.quote.end) for each in words]
    known = [page for pages in found if pages for page in pages]
    sections = dict.fromkeys(each.section for each in words if each.section)
    return CitedPlace("; ".join(sections), (min(known), max(known)) if known else None)


def _pieces(plain: str, start: int, stop: int) -> Iterator[Piece]:
    """The sentences of a block whose markers are blanks, without the mark of a list item."""
    start = trimmed(plain, start, stop)[0]
    item = ITEM.match(plain, start, stop)
    for begin, end in sentences(plain, (item.end() if item else start, stop)):
        piece = trimmed(plain, begin, end)
        if piece[0] < piece[1]:
            yield piece


def _with_markers(pieces: Sequence[Piece], found: Sequence[Marker]) -> list[CitedSentence]:
    stops = [*(start for start, _ in pieces[1:]), found[-1].end if found else 0]
    begins = [0, *(start for start, _ in pieces[1:])]
    places = [marker.start for marker in found]
    return [
        CitedSentence(start, end, tuple(found[bisect_left(places, begin) : bisect_left(places, stop)]))
        for (start, end), begin, stop in zip(pieces, begins, stops, strict=True)
    ]


def _ranges(numbers: str) -> tuple[tuple[int, int], ...]:
    """The first and the last number of each part of a marker; of a descending range only the first number counts."""
    parts = ((int(match[1]), int(match[2] or match[1])) for match in NUMBER.finditer(numbers))
    return tuple((first, max(first, last)) for first, last in parts)


def _blanks_before(text: str, place: int) -> int:
    while place and text[place - 1] in BLANKS:
        place -= 1
    return place
