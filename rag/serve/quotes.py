"""Which words of a passage a sentence of an answer rests on: the span that a reader is shown, not a proof of support."""

import re
from collections.abc import Iterator

from rag.records import Chunk, Span
from rag.sentences import Piece, blocks, is_heading, sentences

WORD = re.compile(r"\w+(?:[-.:/'’]\w+)*")
EDGES = re.compile(r"^\W+|\W+$")
SHORT = 4
"""Words of fewer letters say little about what a sentence is about; one with a digit in it does."""
SHARED = 0.3
"""Share of a sentence's words that the best sentence of a passage must have: below it the whole passage is shown."""


def quoted(sentence: str, chunk: Chunk) -> Span:
    """Where in a passage the words of `sentence` stand: as they are, else the sentence that shares most of its words.

    The whole passage where none shares enough of them.
    """
    found = _verbatim(sentence, chunk.text) or _nearest(sentence, chunk.text) or (0, len(chunk.text))
    return Span(chunk.span.doc_id, chunk.span.start + found[0], chunk.span.start + found[1])


def _verbatim(sentence: str, text: str) -> Piece | None:
    """The same words, whatever blanks and line breaks are between them."""
    words = EDGES.sub("", sentence).split()
    if len(words) < 2:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return found.span() if found else None


def _nearest(sentence: str, text: str) -> Piece | None:
    wanted = _words(sentence)
    best, share = None, SHARED
    for piece in _pieces(text):
        common = len(wanted & _words(text[piece[0] : piece[1]])) / max(len(wanted), 1)
        if common > share:
            best, share = piece, common
    return best


def _pieces(text: str) -> Iterator[Piece]:
    return (piece for block in blocks(text) if not is_heading(text, block[0]) for piece in sentences(text, block))


def _words(text: str) -> set[str]:
    found = (word.lower() for word in WORD.findall(text))
    return {word for word in found if len(word) >= SHORT or any(character.isdigit() for character in word)}
