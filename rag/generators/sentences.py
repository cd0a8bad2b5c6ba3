"""Cuts retrieved text into sentences, list items and table rows, each with the headings that it stands under."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEADING = re.compile(r"\A(#{1,6})\s+(.+?)[\s#]*\Z")
ITEM = re.compile(r"\A(?:[-*+•]|\d{1,3}[.)])\s+")
RULE = re.compile(r"[\s|:=_*+-]*")
END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\W_a-z])|(?<=[。！？])")
ABBREVIATION = re.compile(
    r"\b(?:[A-Z]|e\.g|i\.e|cf|vs|ca|approx|al|Mr|Mrs|Ms|Dr|Prof|St|Sgt|Gen|Jr|No|Nos|Art|Sec|Fig|Inc|Ltd|Co)\.\Z"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said, and the headings, table header included, that it is said under (empty if none)."""

    text: str
    under: str


def sentences(text: str, section: str = "") -> list[Sentence]:
    """Everything that `text` says, in reading order; headings and table headers are not said, things are said under them.

    `section` holds the headings above the first character, joined by ` > `. White space inside a sentence becomes one blank.
    """
    path, header, said = section.split(" > "), "", list[Sentence]()
    for block in _blocks(text):
        if heading := HEADING.match(block):
            path, header = [*path[: len(heading[1]) - 1], heading[2]], ""
        elif not block.startswith("|"):
            header = ""
            said.extend(Sentence(part, " ".join(path)) for part in _split(ITEM.sub("", block)))
        elif header:
            said.append(Sentence(_cells(block), " ".join((*path, header))))
        else:
            header = _cells(block)
    return said


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs with their lines joined; a heading, a list item and a table row is a block of its own."""
    gathered: list[str] = []
    for line in (*text.splitlines(), ""):
        words = " ".join(line.split())
        alone = words.startswith("|") or HEADING.match(words) is not None
        if gathered and (not words or alone or ITEM.match(words)):
            yield " ".join(gathered)
            gathered = []
        if alone and not RULE.fullmatch(words):
            yield words
        elif not RULE.fullmatch(words):
            gathered.append(words)
    if gathered:
        yield " ".join(gathered)


def _cells(row: str) -> str:
    return " | ".join(cell.strip() for cell in row.strip("|").split("|"))


def _split(paragraph: str) -> Iterator[str]:
    start = 0
    for end in END.finditer(paragraph):
        piece = paragraph[start : end.end()].strip()
        if piece and not ABBREVIATION.search(piece):
            yield piece
            start = end.end()
    if rest := paragraph[start:].strip():
        yield rest
