"""What chunks lose of structure, and scores of gold spans, computed without the code that is measured."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from rag.core.corpus import Corpus
from rag.core.types import Example, Place, spans_of

HEADING = re.compile(r"(?:\A|\n) {0,3}#{1,6}[ \t][^\n]*\Z")
DASHES = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*")
WORD = re.compile(r"\w+")
SHARE = 0.5
"""The least share of the characters of gold that counts as found."""


@dataclass(frozen=True)
class Losses:
    """Chunks; those that end in a heading with text behind it; rows of tables in chunks; those read without their header."""

    chunks: int
    headings: int
    rows: int
    bare: int


def losses(corpus: Corpus) -> Losses:
    """Count by the marks of Markdown, `#` and `|`; the names of columns must be among the words that are read."""
    headings = rows = bare = 0
    tables = [list(_rows(document.text)) for document in corpus.documents]
    for position, words in enumerate(corpus.index_texts):
        document = corpus.documents[corpus.doc[position]]
        start, end = int(corpus.start[position]), int(corpus.end[position])
        headings += bool(HEADING.search(document.text[start:end])) and bool(document.text[end:].strip())
        read = set(WORD.findall(words))
        inside = [names for first, last, names in tables[corpus.doc[position]] if first < end and start < last]
        rows, bare = rows + len(inside), bare + sum(not names <= read for names in inside)
    return Losses(len(corpus), headings, rows, bare)


def _rows(text: str) -> Iterator[tuple[int, int, set[str]]]:
    """Start and end of every row below the dashes of a table, and the words that name the columns of its cells."""
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    for number, (_, line) in enumerate(lines[1:], 1):
        if DASHES.fullmatch(line) and "|" in lines[number - 1][1]:
            names = _cells(lines[number - 1][1])
            for start, row in takewhile(lambda each: "|" in each[1], lines[number + 1 :]):
                named = (name for name, cell in zip(names, _cells(row), strict=False) if cell)
                yield start, start + len(row), {word for name in named for word in WORD.findall(name)}


def _cells(line: str) -> list[str]:
    inner = re.sub(r"\A\s*\||(?<!\\)\|\s*\Z", "", line)
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]


def by_characters(example: Example, corpus: Corpus, positions: Sequence[int]) -> tuple[float, float, float]:
    """Recall of evidence groups, recall of characters, and IoU of a question, from the numbers of all characters."""
    base = np.cumsum([0, *(len(document.text) for document in corpus.documents)])
    found = [position for position in positions if position >= 0]
    got = [np.arange(corpus.start[each], corpus.end[each]) + base[corpus.doc[each]] for each in found]
    read = np.unique(np.concatenate([*got, np.zeros(0, np.int64)]))
    groups = [_characters(place, corpus, base) for group in example.evidence for place in group.alternatives]
    assert len(groups) == len(example.evidence), "every group has one alternative"
    gold = np.unique(np.concatenate(groups))
    both = np.isin(gold, read).sum()
    recall = np.mean([np.isin(group, read).mean() >= SHARE for group in groups])
    return float(recall), both / len(gold), both / (len(gold) + len(read) - both)


def _characters(place: Place, corpus: Corpus, base: np.ndarray) -> np.ndarray:
    assert not isinstance(place, str)
    row = corpus.place(place.doc_id)
    assert row is not None
    return np.concatenate([np.arange(span.start, span.end) + base[row] for span in spans_of(place)])
