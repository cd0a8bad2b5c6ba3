"""Which words of a passage a sentence of an answer rests on: the span that a reader is shown, not a proof of support."""

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
"""The end of a sentence, which belongs to the words before it."""
SHORT = 4
"""Words of fewer letters say little about what a sentence is about; one with a digit in it does."""
SHARED = 0.3
"""Share of a sentence's words that the best sentence of a passage must have: below it the whole passage is shown."""


def quoted(sentence: str, chunk: Chunk) -> Span:
    """Where in a passage the words of `sentence` stand: as they are, else the sentence that shares most of its words.

    The whole passage where none shares enough of them.
    """
    found = _verbatim(sentence, chunk.text) or _nearest(sentence, chunk) or (0, len(chunk.text))
    return Span(chunk.span.doc_id, chunk.span.start + found[0], chunk.span.start + found[1])


def section_of(quote: Span, chunk: Chunk) -> str:
    """The headings above the first character of a quote; of a whole passage those above most of it."""
    return chunk.section if quote == chunk.span else chunk.section_at(quote.start)


def _verbatim(sentence: str, text: str) -> Piece | None:
    """The same words with the end of their sentence, whatever blanks and line breaks are between them."""
    bare = EDGES.sub("", sentence)
    if len(bare.split()) < 2:
        return None
    plain = sentence.strip(MARKS)
    for said in dict.fromkeys((sentence.strip(), plain, plain.rstrip(ENDS).rstrip(), bare)):
        words = r"\s+".join(map(re.escape, said.split()))
        edges = (r"(?<!\w)" if re.match(r"\w", said) else "", r"(?!\w)" if re.search(r"\w\Z", said) else "")
        if found := re.search(f"{edges[0]}{words}{edges[1]}{CLOSED}", text):
            return found.span()
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
    """The sentences of a passage; headings are none."""
    for block in blocks(chunk.text):
        if not headings.holds(chunk.sections, chunk.span.start + block[0]):
            yield from sentences(chunk.text, block)


def _words(text: str) -> set[str]:
    found = (word.lower() for word in WORD.findall(text))
    return {word for word in found if len(word) >= SHORT or any(character.isdigit() for character in word)}
