"""The words of a passage behind a sentence of an answer: a span to show to the reader, not a proof of support."""

import re
from functools import lru_cache

from rag.core import headings
from rag.core.text.sentences import Piece, blocks, sentences
from rag.core.types import Chunk, Span

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
    for piece, words in _pieces(chunk):
        common = len(wanted & words) / max(len(wanted), 1)
        if common > share:
            best, share = piece, common
    return best


@lru_cache(maxsize=256)
def _pieces(chunk: Chunk) -> list[tuple[Piece, set[str]]]:
    """The sentences of a passage without headings, with their words: an answer may have thousands that cite it."""
    kept = (block for block in blocks(chunk.text) if not headings.holds(chunk.sections, chunk.span.start + block[0]))
    return [(piece, _words(chunk.text[slice(*piece)])) for block in kept for piece in sentences(chunk.text, block)]


def _words(text: str) -> set[str]:
    words = (word.lower() for word in WORD.findall(text))
    return {word for word in words if len(word) >= SHORT or any(character.isdigit() for character in word)}
