"""The records that packages exchange. All are immutable; offsets count Unicode code points, end exclusive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rag.core import headings

Vectors = NDArray[np.float32]
"""Embeddings, shape (texts, dimensions)."""

Allowed = NDArray[np.bool_]
"""The positions of a corpus that a search may return, shape (chunks,)."""

Arrays = Mapping[str, NDArray[Any]]
"""Named arrays without Python objects: the data of an index, and of an entry of the store."""

SPLITS = ("tune", "holdout")
"""The parts of a golden set: one to choose trials, one to confirm the choice."""


Value = str | int | float | bool
"""A value of metadata; a date is text in ISO 8601."""

Box = tuple[float, float, float, float]
"""A rectangle on a page as shares of its width and height: left, top, right, bottom, from 0 at the top left to 1."""


@dataclass(frozen=True, slots=True)
class Block:
    """The characters [start, end) of a text and their place on a page.

    `kind` is one of `rag.core.records.BLOCKS`; a `cell` lies within its `table`, and is there only where the file gives its
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

    `blocks` are those that its characters touch, after the one that begins last before it (`rag.core.pages`).
    """

    span: Span
    text: str
    sections: tuple[headings.Section, ...] = ()
    blocks: tuple[Block, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question with the earlier turns, oldest first.

    `rewrite` is the question as a person wrote it to be understood alone, or empty: only `queries=human` reads it.
    """

    query_id: str
    text: str
    history: tuple[Turn, ...] = ()
    rewrite: str = ""


@dataclass(frozen=True, slots=True)
class Sought:
    """The search for a question.

    `question` can be understood alone: rerankers compare passages with it. Indexes search for each of `texts`, one or more.
    `note` says why a fallback was used, empty if none was; `tokens` and `cost` (US dollars) are those of a model.
    """

    question: str
    texts: tuple[str, ...]
    note: str = ""
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Recalled:
    """The part of a conversation that a model is shown: a `summary` of older turns, and the latest `turns`.

    `note` says why a fallback was used, empty if none was; `tokens` and `cost` (US dollars) are those of a model.
    """

    turns: tuple[Turn, ...] = ()
    summary: str = ""
    tokens: int = 0
    cost: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk with its score (higher is better)."""

    chunk: Chunk
    score: float


Ranking = tuple[Hit, ...]
"""Hits, best first, no chunk twice."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message for a chat model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Framed:
    """Contexts as a guard changed them, and its texts before and after them."""

    contexts: tuple[str, ...]
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage as a prompt may show it: `title` is the first heading of its document, or else the file name.

    `section` are the headings above the passage, outermost first, the title among them; empty if none. `page` is that of its
    first character, 0 if the document has no pages. `metadata` are those of the document.
    """

    document: str
    title: str
    section: str
    text: str
    page: int = 0
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Material:
    """The input of a prompt. `contexts` are numbered from 1; `pinned` are whole documents; `before` and `after` as in Framed.

    A context is the text of `Quoting.quoted`, if the prompt has that method, as guards changed it.
    """

    query: Query
    contexts: tuple[str, ...]
    recalled: Recalled = Recalled()
    pinned: tuple[Document, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """The input of a generator: the question, the contexts that it may read, best first, and the rendered messages.

    `references` are the gold answers: only a generator with `reads_gold` reads them. `sample` numbers several replies to the
    same messages, from 0, as the votes of a judge. `quoted` are the contexts before guards changed them, with the names of
    documents and sections that the prompt shows.
    """

    query: Query
    contexts: tuple[Chunk, ...]
    messages: tuple[Message, ...]
    references: tuple[str, ...] = ()
    sample: int = 0
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a generator. `citations` are numbers of contexts (from 1); `cost` is in US dollars, NaN if unknown.

    `failure` says why the server refused this request for good (too long for the model, filtered); the text is then empty.
    An error of all requests, such as a wrong key, is raised instead.
    """

    text: str
    citations: tuple[int, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    failure: str = ""


Action = Literal["flag", "quarantine", "abstain", "remove", "refuse", "regenerate"]
"""Tell the reader, remove a context, answer without the model, cut from the reply, replace it, or generate again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that the check or guard `source` found.

    It concerns the characters [start, end) of context number `context`, or of the reply if that is 0. For a retrieved passage
    `passage` is the chunk_id; a removed passage is not a context any more, and its number is 0. `advice` is part of the prompt
    if the reply is generated again.
    """

    source: str
    what: str
    action: Action = "flag"
    context: int = 0
    start: int = 0
    end: int = 0
    advice: str = ""
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to a question, and its contexts, numbered from 1.

    `abstained`: the reply declines to answer; `sought` is the search, `left_out` are retrieved passages that the model was not
    shown.
    """

    query: Query
    contexts: Ranking
    reply: Reply
    findings: tuple[Finding, ...] = ()
    abstained: bool = False
    sought: Sought | None = None
    left_out: Ranking = ()


Fate = Literal["exact", "pieced", "parser", "redaction", "noise"]
FATES: tuple[Fate, ...] = ("exact", "pieced", "parser", "redaction", "noise")
"""A quote in a parsed document: found letter by letter, found with tolerance, or lost by one of the three."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A quote as gold in a document that a parser or a redactor made.

    `spans` are its pieces in reading order, one if `fate` is exact, none if the quote is lost: `rule` then names what lost it,
    and `chars` is its length. It is found when the union of its pieces is covered. `asked` is the quote as the golden set has
    it, the same for every parser: its span in the text of the file, or a digest.
    """

    doc_id: str
    spans: tuple[Span, ...]
    fate: Fate
    asked: Span | str
    rule: str = ""
    chars: int = 0


Place = Span | Anchor | str
"""Gold: a span, a quote in a parsed document, or the doc_id of a whole document."""


def spans_of(place: Place) -> tuple[Span, ...]:
    """The spans of gold; none for a whole document and for a quote that is lost."""
    return (place,) if isinstance(place, Span) else place.spans if isinstance(place, Anchor) else ()


def document_of(place: Place) -> str:
    """The doc_id of gold."""
    return place if isinstance(place, str) else place.doc_id


@dataclass(frozen=True, slots=True)
class Evidence:
    """One group of gold: satisfied when any of its alternatives is retrieved. A `doc_id` alone means the whole document."""

    alternatives: tuple[Place, ...]
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Example:
    """A golden question. `evidence` groups are all needed.

    Without evidence the corpus cannot answer it, unless it has `answers` and is not `unanswerable`: then the place of the
    answer is not known, and only metrics that compare answers with references apply.

    `cluster` is the unit of resampling when trials are compared; `judged` names the documents with a judgement for this
    question, relevant or not. Questions of one `dialogue` are asked one after the other, by `turn` (from 1).
    """

    query: Query
    evidence: tuple[Evidence, ...] = ()
    answers: tuple[str, ...] = ()
    kind: str = ""
    tags: tuple[str, ...] = ()
    split: str = ""
    cluster: str = ""
    judged: frozenset[str] = frozenset()
    dialogue: str = ""
    turn: int = 0
    unanswerable: bool = False

    @property
    def has_gold(self) -> bool:
        """True if the places of the answer in the corpus are known."""
        return any(group.grade > 0 for group in self.evidence)

    @property
    def to_decline(self) -> bool:
        """True if the corpus cannot answer this, so that it is right to decline."""
        return not self.has_gold and (self.unanswerable or not self.answers)
