"""All chunks of a corpus as one table, so that rankings can be arrays of row numbers."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core import headings
from rag.core.headings import Section
from rag.core.memo import Recent
from rag.core.types import Chunk, Document, Span

CUT = re.compile(r"(?:^[^|\n]+\n\s*)?(?:^\|.*\n)+\Z", re.MULTILINE)
WORD = re.compile(r"[^\W_]+(?:[-./:_'’][^\W_]+)*")
HEAD, FAR = 5, 20_000
"""The most lines that are read as caption and header of a table, and the most characters of it above a chunk."""
OPENING = 160
"""The characters of a chunk that may be a name that it begins with."""


@dataclass(frozen=True)
class Corpus:
    """Chunks in reading order: sorted by (row of the document in `documents`, start, end); `documents` sorted by doc_id.

    `doc`, `start`, `end` have one row per chunk; a row number is a chunk's *position*. `indexed` are the texts that indexes,
    embedder and reranker read, by position; None if they read the characters of the chunks.
    """

    documents: tuple[Document, ...]
    doc: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    indexed: tuple[str, ...] | None = None

    @classmethod
    def of(cls, documents: Iterable[Document], spans: Iterable[Span]) -> "Corpus":
        """The chunks of all spans, each once; documents without a span are kept."""
        ordered = tuple(sorted(documents, key=lambda document: document.doc_id))
        row_of = {document.doc_id: row for row, document in enumerate(ordered)}
        rows = sorted({(row_of[span.doc_id], span.start, span.end) for span in spans})
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

    def index_text(self, position: int) -> str:
        """The text that indexes, embedder and reranker read for the chunk at `position`."""
        return self.text(position) if self.indexed is None else self.indexed[position]

    def opening(self, name: str) -> list[int]:
        """The positions of the chunks whose index text begins with a name, case ignored; the name ends where a word ends."""
        name, found = name.lower(), list[int]()
        for text, position in self._openings[bisect_left(self._openings, (name, -1)) :]:
            if not text.startswith(name):
                break
            if not text[len(name) : len(name) + 1].isalnum():
                found.append(position)
        return found

    @cached_property
    def _openings(self) -> list[tuple[str, int]]:
        texts = (text[:OPENING].lower() for text in self.index_texts)
        return sorted((text.lstrip("#*_ \n"), position) for position, text in enumerate(texts))

    def frequency(self, word: str) -> int:
        """The number of chunks whose index text has a word, case ignored."""
        return self._frequencies[word.lower()]

    @cached_property
    def _frequencies(self) -> Counter[str]:
        return Counter(word for text in self.index_texts for word in set(WORD.findall(text.lower())))

    @property
    def index_texts(self) -> tuple[str, ...]:
        """The texts that indexes, embedder and reranker read, by position."""
        return self.texts if self.indexed is None else self.indexed

    def chunk(self, position: int, end: int | None = None) -> Chunk:
        """The chunk at `position` as a record, or all from its first character up to the character `end` of its document."""
        document = self.documents[int(self.doc[position])]
        span = Span(document.doc_id, int(self.start[position]), int(self.end[position]) if end is None else end)
        first, last = self.sections_of(int(self.doc[position]), span.start, span.end)
        sections, blocks = self.sections[int(self.doc[position])][first : last + 1], document.blocks
        if blocks:
            above = bisect_right(blocks, span.start, key=lambda block: block.start) - 1
            blocks = blocks[max(0, above) : bisect_left(blocks, span.end, key=lambda block: block.start)]
        text = document.text[span.start : span.end]
        cut = CUT.search(document.text, max(0, span.start - FAR), span.start) if text.startswith("|") else None
        return Chunk(span, text, sections, blocks, "\n".join(filter(str.strip, cut[0].splitlines()[:HEAD])) if cut else "")

    def of_document(self, row: int) -> slice:
        """The positions of the chunks of a document, by its row."""
        return slice(*np.searchsorted(self.doc, [row, row + 1]).tolist())

    def find(self, span: Span) -> int | None:
        """The position of the first chunk with exactly these characters, None if there is none."""
        if (row := self.place(span.doc_id)) is None:
            return None
        own = self.of_document(row)
        found = np.flatnonzero((self.start[own] == span.start) & (self.end[own] == span.end))
        return own.start + int(found[0]) if len(found) else None

    def position(self, chunk_id: str) -> int:
        """The position of a chunk of this corpus; KeyError for another one."""
        doc_id, _, span = chunk_id.rpartition(":")
        start, _, end = span.partition("-")
        if (found := self.find(Span(doc_id, int(start), int(end)))) is None:
            raise KeyError(chunk_id)
        return found

    @cached_property
    def shown(self) -> Recent[Any]:
        """The passages that were shown last, as JSON, by the positions of their chunks."""
        return Recent(1024)

    def chunks(self, positions: Sequence[int]) -> tuple[Chunk, ...]:
        """The chunks at `positions`, in that order."""
        return tuple(self.chunk(position) for position in positions)

    def reach(self, position: int) -> tuple[int, int]:
        """The numbers of the first and the last section of its document that a chunk has text of; a heading is not text."""
        row, start, end = int(self.doc[position]), int(self.start[position]), int(self.end[position])
        text, sections = self.documents[row].text, self.sections[row]
        first, last = self.sections_of(row, start, end)
        while first < last and not text[max(start, sections[first].body) : sections[first + 1].start].strip():
            first += 1
        while first < last and not text[sections[last].body : end].strip():
            last -= 1
        return first, last

    def section_mates(self, position: int) -> tuple[int, int]:
        """The first and the last chunk of a document that have text of a section that the chunk at `position` has text of."""
        row, (first, last) = int(self.doc[position]), self.reach(position)
        if (row, first, last) not in self._mates:
            own = range(len(self))[self.of_document(row)]
            low = bisect_left(own, first, key=lambda each: self.reach(each)[1])
            high = bisect_right(own, last, key=lambda each: self.reach(each)[0])
            self._mates[row, first, last] = own[low], own[high - 1]
        return self._mates[row, first, last]

    @cached_property
    def _mates(self) -> dict[tuple[int, int, int], tuple[int, int]]:
        return {}

    def sections_of(self, row: int, start: int, end: int) -> tuple[int, int]:
        """The numbers of the first and the last section of a document with one of its characters [start, end)."""
        edges = start, max(start, end - 1)
        first, last = (bisect_right(self.sections[row], place, key=lambda section: section.start) - 1 for place in edges)
        return first, last

    def place(self, doc_id: str) -> int | None:
        """The row of a document in `documents`, None if there is none."""
        row = bisect_left(self.documents, doc_id, key=lambda document: document.doc_id)
        return row if row < len(self.documents) and self.documents[row].doc_id == doc_id else None

    def title(self, doc_id: str) -> str:
        """The first heading of a document of this corpus, or else its file name."""
        row = self.place(doc_id)
        headed = self.sections[row][1:2] if row is not None else ()
        return headed[0].path if headed else doc_id.rpartition("/")[2]

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """The title of every document, by row."""
        return tuple(self.title(document.doc_id) for document in self.documents)

    @cached_property
    def page_counts(self) -> tuple[int, ...]:
        """The highest page of every document, 0 for one without pages."""
        return tuple(max((block.page for block in document.blocks), default=0) for document in self.documents)

    @cached_property
    def outlines(self) -> tuple[tuple[tuple[int, int, str], ...], ...]:
        """The sections of every document that are not empty, in reading order: start, end and headings."""
        rows = zip(self.documents, self.sections, strict=True)
        return tuple(tuple(_stretches(len(document.text), sections)) for document, sections in rows)

    def clipped(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> "Corpus":
        """The same chunks with other edges inside the present ones; indexes read the characters of chunks whose edges moved."""
        narrower = replace(self, start=start, end=end, indexed=None)
        if self.indexed is not None:
            texts = list(self.indexed)
            for position in np.flatnonzero((start != self.start) | (end != self.end)).tolist():
                texts[position] = narrower.text(position)
            narrower = replace(narrower, indexed=tuple(texts))
        # The documents stay the same, and so do their headings: to find them again would take longer than a search.
        vars(narrower).update(sections=self.sections, outlines=self.outlines)
        return narrower

    @cached_property
    def sections(self) -> tuple[tuple[Section, ...], ...]:
        """The sections of every document (`rag.core.headings`)."""
        return tuple(tuple(headings.sections(document.text)) for document in self.documents)


def _stretches(size: int, sections: Sequence[Section]) -> Iterator[tuple[int, int, str]]:
    for section, end in zip(sections, [*(later.start for later in sections[1:]), size], strict=True):
        if section.start < end:
            yield section.start, end, section.path
