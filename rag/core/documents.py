"""Documents, their parts and places. All records are immutable; offsets count Unicode code points, end exclusive."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.core import headings

Value = str | int | float | bool
"""A value of metadata; a date is text in ISO 8601."""

Box = tuple[float, float, float, float]
"""A rectangle on a page as shares of its width and height: left, top, right, bottom, from 0 at the top left to 1."""


@dataclass(frozen=True, slots=True)
class Block:
    """The characters [start, end) of a text and their place on a page.

    `kind` is one of `rag.core.documents.BLOCKS`; a `cell` lies within its `table`, and is there only where the file gives its
    place or its id. `page` counts from 1, 0 for formats without pages; a block that goes on over a page break is two blocks.
    `boxes` are its rectangles on that page, `score` is the confidence of the parser from 0 to 1, None if it has none, and
    `name` the id that the file gives it.
    """

    kind: str
    start: int
    end: int
    page: int = 0
    boxes: tuple[Box, ...] = ()
    score: float | None = None
    name: str = ""


BLOCKS = ("heading", "text", "list", "table", "cell", "figure", "code", "footnote", "marginalia", "logo", "attestation")
"""Kinds of blocks. `marginalia` are headers, footers and page numbers; `attestation` are stamps and signatures."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """A placeholder at the characters [start, end) of a text, in place of `length` characters that `rule` found."""

    start: int
    end: int
    rule: str
    length: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """The content of one file as Markdown, with line feeds as line ends.

    `blocks` are in reading order, cells after their table; a parser that keeps the text as it is in the file has none. `pages`
    is the number of pages, 0 for formats without. `metadata` are properties that the file states. `notes` are remarks for a
    person, such as pages that are scanned images.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)
    pages: int = 0
    notes: tuple[str, ...] = ()
    redactions: tuple[Redaction, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One text of a corpus. `doc_id` is unique within the corpus and stays the same between versions of the text.

    `blocks` and `redactions` are places in `text`; both are empty where the text is that of the file.
    """

    doc_id: str
    text: str
    metadata: Mapping[str, Value] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    redactions: tuple[Redaction, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The characters [start, end) of a document."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable piece of a document: `text` are the characters of `span`, `sections` those that it is in.

    `blocks` are those that its characters touch, after the one that begins last before it (`rag.core.pages`). `head` are the
    line above and the first lines of a table that it begins within, empty elsewhere.
    """

    span: Span
    text: str
    sections: tuple[headings.Section, ...] = ()
    blocks: tuple[Block, ...] = ()
    head: str = ""

    @property
    def section(self) -> str:
        """The innermost headings over more than half of the characters; empty if none."""
        return headings.prevailing(self.sections, self.span.start, self.span.end)

    def section_at(self, place: int) -> str:
        """The headings above a character of the document that is in this chunk; empty if none."""
        return headings.above(self.sections, place).path

    @property
    def chunk_id(self) -> str:
        """`doc_id:start-end`."""
        return f"{self.span.doc_id}:{self.span.start}-{self.span.end}"
