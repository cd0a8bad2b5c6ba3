"""All chunks of a corpus as one table, so that rankings can be arrays of row numbers."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag.records import Chunk, Document, Span

HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@dataclass(frozen=True)
class Corpus:
    """Chunks in reading order: sorted by (place of the document in `documents`, start, end); `documents` sorted by doc_id.

    `doc`, `start`, `end` have one row per chunk; a row number is a chunk's *position*.
    """

    documents: tuple[Document, ...]
    doc: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Iterable[Document], spans: Iterable[Span]) -> "Corpus":
        """Lay out spans over documents; documents without a span stay, spans that occur twice are kept once."""
        ordered = tuple(sorted(documents, key=lambda document: document.doc_id))
        place = {document.doc_id: row for row, document in enumerate(ordered)}
        rows = sorted({(place[span.doc_id], span.start, span.end) for span in spans})
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(ordered, table[:, 0].astype(np.int32), table[:, 1].copy(), table[:, 2].copy())

    def __len__(self) -> int:
        return len(self.start)

    def text(self, position: int) -> str:
        """The characters of the chunk at `position`."""
        return self.documents[int(self.doc[position])].text[int(self.start[position]) : int(self.end[position])]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The characters of every chunk, by position."""
        return tuple(self.text(position) for position in range(len(self)))

    def chunk(self, position: int) -> Chunk:
        """The chunk at `position` as a record."""
        document = self.documents[int(self.doc[position])]
        span = Span(document.doc_id, int(self.start[position]), int(self.end[position]))
        return Chunk(span, document.text[span.start : span.end], self.section(position))

    def chunks(self, positions: Sequence[int]) -> tuple[Chunk, ...]:
        """The chunks at `positions`, in that order."""
        return tuple(self.chunk(position) for position in positions)

    def section(self, position: int) -> str:
        """The Markdown headings above the first character of a chunk, outermost first, joined by ` > `; empty if none."""
        offsets, titles = self._headings[int(self.doc[position])]
        return titles[bisect_right(offsets, int(self.start[position]))]

    def place(self, doc_id: str) -> int | None:
        """The row of a document in `documents`, None if there is none."""
        row = bisect_left(self.documents, doc_id, key=lambda document: document.doc_id)
        return row if row < len(self.documents) and self.documents[row].doc_id == doc_id else None

    def outline(self, row: int) -> tuple[tuple[int, int, str], ...]:
        """The sections of the document in a row: start, end and headings of each, in reading order, none of them empty."""
        return self.outlines[row]

    @cached_property
    def outlines(self) -> tuple[tuple[tuple[int, int, str], ...], ...]:
        """The sections of every document, as `outline` has them."""
        rows = zip(self.documents, self._headings, strict=True)
        return tuple(tuple(_sections(len(document.text), *headings)) for document, headings in rows)

    def clipped(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> "Corpus":
        """The same chunks with other edges inside their own."""
        narrower = replace(self, start=start, end=end)
        # The headings are those of the documents, which stay; to look for them anew would take longer than a search.
        vars(narrower).update(_headings=self._headings, outlines=self.outlines)
        return narrower

    @cached_property
    def _headings(self) -> tuple[tuple[list[int], list[str]], ...]:
        return tuple(_heading_paths(document.text) for document in self.documents)


def _heading_paths(text: str) -> tuple[list[int], list[str]]:
    offsets: list[int] = []
    titles = [""]
    path: list[tuple[int, str]] = []
    for match in HEADING.finditer(text):
        level = len(match[1])
        path = [(depth, title) for depth, title in path if depth < level] + [(level, match[2])]
        offsets.append(match.start())
        titles.append(" > ".join(title for _, title in path))
    return offsets, titles


def _sections(size: int, offsets: Sequence[int], titles: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for (start, end), title in zip(pairwise([0, *offsets, size]), titles, strict=True):
        if start < end:
            yield start, end, title
