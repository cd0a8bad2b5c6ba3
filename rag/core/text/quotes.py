"""The words of a passage behind a sentence of an answer: a span to show to the reader, not a proof of support."""

import re
from collections.abc import Iterator

from rag.core import headings
from rag.core.records import Chunk, Span
from rag.core.text.sentences import Piece, blocks, sentences

WORD = re.compile(r"\w+(?:[-.:/'’]\w+)*")
EDGES = re.compile(r"^\W+|\W+$")
MARKS = " *_`\"'“”‘’«»"
ENDS = ".!?…"
CLOSED = rf"(?:[{ENDS}]+[\"'”’)\]»]*)?"
"""The end of a sentence, which is part of the quote."""
SHORT = 4
"""Shorter words say little about the topic of a sentence, unless they have a digit."""
SHARED = 0.3
"""The share of a sentence's words that the best sentence of a passage must have; else the whole passage is the quote."""


def quoted(sentence: str, chunk: Chunk) -> Span:
    """The words of `sentence` in a passage, else the sentence of the passage that shares most of its words.

    It is the whole passage if no sentence shares enough of them.
    """
    start, end = _verbatim(sentence, chunk.text) or _nearest(sentence, chunk) or (0, len(chunk.text))
    return Span(chunk.span.doc_id, chunk.span.start + start, chunk.span.start + end)


def section_of(quote: Span, chunk: Chunk) -> str:
    """The headings above the first character of a quote; of a whole passage those above most of it."""
    return chunk.section if quote == chunk.span else chunk.section_at(quote.start)


def _verbatim(sentence: str, text: str) -> Piece | None:
    """The same words with the end of their sentence, with any blanks and line breaks between them."""
    bare = EDGES.sub("", sentence)
    if len(bare.split()) < 2:
        return None
    plain = sentence.strip(MARKS)
    for part in dict.fromkeys((sentence.strip(), plain, plain.rstrip(ENDS).rstrip(), bare)):
        words = r"\s+".join(map(re.escape, part.split()))
        edges = (r"(?<!\w)" if re.match(r"\w", part) else "", r"(?!\w)" if re.search(r"\w\Z", part) else "")
        if match := re.search(f"{edges[0]}{words}{edges[1]}{CLOSED}", text):
            return match.span()
    return None


def _nearest(sentence: str, chunk: Chunk) -> Piece | None:
    wanted = _words(sentence)
    best, share = None, SHARED
    for piece in _pieces(chunk):
        common = len(wanted & _words(chunk.text[piece[0] : piece[1]])) / max(len(wanted), 1)
        if common > share:
            best, share = piece, common
    return best


def _pieces(chunk: Chunk) -> Iterator[Piece]:
    """The sentences of a passage without headings."""
    for block in blocks(chunk.text):
        if not headings.holds(chunk.sections, chunk.span.start + block[0]):
            yield from sentences(chunk.text, block)


def _words(text: str) -> set[str]:
    words = (word.lower() for word in WORD.findall(text))
    return {word for word in words if len(word) >= SHORT or any(character.isdigit() for character in word)}
