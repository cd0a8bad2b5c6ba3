"""The records that flow from one room to the next. All are immutable; offsets count Unicode code points, end exclusive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rag.core import headings

Vectors = NDArray[np.float32]
"""Embeddings, shape (texts, dimensions)."""

Allowed = NDArray[np.bool_]
"""Which positions of a corpus may be found, shape (chunks,)."""

Arrays = Mapping[str, NDArray[Any]]
"""Named arrays without Python objects: what an index is made of, and what a store can hold."""

SPLITS = ("tune", "holdout")
"""The parts of a golden set: one to choose by, one to confirm the choice."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text of a corpus. `doc_id` is unique within the corpus and stays the same between versions of the text."""

    doc_id: str
    text: str
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The characters [start, end) of a document."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable piece of a document: `text` is exactly what stands at `span`, `sections` are those that it is in."""

    span: Span
    text: str
    sections: tuple[headings.Section, ...] = ()

    @property
    def section(self) -> str:
        """The innermost headings that more than half of the characters stand under; empty if none."""
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
    """What a person asks now, with the turns before it, oldest first.

    `rewrite` is the question as a person wrote it to be understood alone, empty without one: only `queries=human` reads it.
    """

    query_id: str
    text: str
    history: tuple[Turn, ...] = ()
    rewrite: str = ""


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for on behalf of a question.

    `question` can be understood alone: what rerankers compare passages with. Indexes are asked for each of `texts`, one or
    more. `note` says what was fallen back to, empty if nothing; `tokens` and `cost` (US dollars) are what a model took.
    """

    question: str
    texts: tuple[str, ...]
    note: str = ""
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a model is shown of a conversation: a `summary` of what is further back, and `turns` as they were said.

    `note` says what was fallen back to, empty if nothing; `tokens` and `cost` (US dollars) are what a model took.
    """

    turns: tuple[Turn, ...] = ()
    summary: str = ""
    tokens: int = 0
    cost: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, with the score that ranked it (higher is better)."""

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
    """Contexts as a guard wants them shown, and what it has to say before them and after them."""

    contexts: tuple[str, ...]
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage as a prompt may show it: `title` is the first heading of its document, or else the file name.

    `section` are the headings above the passage, outermost first, the title among them; empty if none.
    """

    document: str
    title: str
    section: str
    text: str


@dataclass(frozen=True, slots=True)
class Material:
    """What a prompt is made of. `contexts` are numbered from 1; `pinned` documents go in whole; the rest as in Framed.

    A context is what `Quoting.quoted` gave, where the prompt has it, and what guards made of it.
    """

    query: Query
    contexts: tuple[str, ...]
    recalled: Recalled = Recalled()
    pinned: tuple[Document, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a generator is given: the question, the contexts that it may read, best first, and the rendered messages.

    `references` are the gold answers of a golden question: only a generator with `reads_gold` looks at them. Whoever wants
    another reply to the same messages, as a judge with several votes does, numbers them by `sample`, from 0. `quoted` are the
    contexts as guards were given them, with the names of documents and sections that the prompt shows.
    """

    query: Query
    contexts: tuple[Chunk, ...]
    messages: tuple[Message, ...]
    references: tuple[str, ...] = ()
    sample: int = 0
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a generator gave back. `citations` are numbers of contexts (from 1); `cost` is in US dollars, NaN if unknown.

    `failure` says why this one request was refused for good (too long for the model, filtered) while others need not be;
    its text is then empty. What concerns all requests, such as a wrong key, is raised instead.
    """

    text: str
    citations: tuple[int, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    failure: str = ""


Action = Literal["flag", "quarantine", "abstain", "remove", "refuse", "regenerate"]
"""What a finding asks for: tell the reader, take a context out, ask no model, cut from the reply, replace it, ask again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check or a guard, named `source`, noticed.

    It concerns the characters [start, end) of context number `context`, or of the reply where that is 0. Of a passage that was
    found, `passage` is the chunk_id; one that was taken out is no context any more, and its number is 0. `advice` is what the
    model is told when it is asked again.
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
    """A question answered: the reply as a person reads it, and the contexts that it was answered from, numbered from 1.

    `abstained` says that the reply declines to answer; `sought` is what was searched for, `left_out` what was found and not
    shown to the model.
    """

    query: Query
    contexts: Ranking
    reply: Reply
    findings: tuple[Finding, ...] = ()
    abstained: bool = False
    sought: Sought | None = None
    left_out: Ranking = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One group of gold: satisfied when any of its alternatives is found. A bare `doc_id` means the whole document."""

    alternatives: tuple[Span | str, ...]
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Example:
    """A golden question. `evidence` groups are all needed.

    Without evidence the corpus cannot answer it, unless it has `answers` and is not `unanswerable`: then it is not known where
    the answer stands, and only what compares answers with references is measured.

    `cluster` is the unit that is resampled when trials are compared; `judged` names documents that were looked at for this
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
        """Whether it is known where the corpus answers this."""
        return any(group.grade > 0 for group in self.evidence)

    @property
    def to_decline(self) -> bool:
        """Whether the corpus cannot answer this, so that to decline is right."""
        return not self.has_gold and (self.unanswerable or not self.answers)
