"""The statements of a retrieved text: its sentences, list items and table rows, each with the headings above it.

Sentences end as they do for chunkers (`rag.core.text.sentences`); here the lines of a paragraph are joined first.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.core import headings
from rag.core.text.sentences import blocks, sentences
from rag.core.types import Chunk

ITEM = re.compile(r"\A(?:[-*+•]|\d{1,3}[.)])\s+")
RULE = re.compile(r"[\s|:=_*+-]*")
TERM = re.compile(r"(\*\*|__).+\1")
"""`**Term.**` in bold print: its definition follows, and belongs to it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The text of a statement, the headings above it, and the header of its table (empty if none)."""

    text: str
    path: str
    header: str = ""


def statements(chunk: Chunk, language: str = "english") -> list[Statement]:
    """The statements of a passage in reading order; headings and table headers are none.

    White space inside a statement becomes one blank.
    """
    header, read = "", list[Statement]()
    for start, words in _paragraphs(chunk):
        path = chunk.section_at(start)
        if headings.holds(chunk.sections, start):
            header = ""
        elif not words.startswith("|"):
            header = ""
            read.extend(Statement(part, path) for part in _split(ITEM.sub("", words), language))
        elif header:
            read.append(Statement(_cells(words), path, header))
        else:
            header = _cells(words)
    return read


def _paragraphs(chunk: Chunk) -> Iterator[tuple[int, str]]:
    """The words of paragraphs, their lines joined, each with its offset in the document.

    A heading, a list item and a table row are paragraphs of their own.
    """
    gathered: list[str] = []
    begun = end = 0
    for start, stop in blocks(chunk.text):
        place, words = chunk.span.start + start, " ".join(chunk.text[start:stop].split())
        alone = words.startswith("|") or headings.holds(chunk.sections, place)
        if gathered and (alone or ITEM.match(words) or chunk.text.count("\n", end, start) > 1):
            yield begun, " ".join(gathered)
            gathered = []
        if alone and not RULE.fullmatch(words):
            yield place, words
        elif not RULE.fullmatch(words):
            begun = begun if gathered else place
            gathered.append(words)
        end = stop
    if gathered:
        yield begun, " ".join(gathered)


def _cells(row: str) -> str:
    return " | ".join(cell.strip() for cell in row.strip("|").split("|"))


def _split(paragraph: str, language: str) -> Iterator[str]:
    first: int | None = None
    for start, end in sentences(paragraph, (0, len(paragraph)), language):
        first = start if first is None else first
        if end == len(paragraph) or not TERM.fullmatch(paragraph, start, end):
            yield paragraph[first:end]
            first = None
