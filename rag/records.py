"""The records that flow from one room to the next. All are immutable; offsets count Unicode code points, end exclusive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Embeddings, shape (texts, dimensions)."""

Arrays = Mapping[str, NDArray[Any]]
"""Named arrays without Python objects: what an index is made of, and what a store can hold."""


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
    """A retrievable piece of a document: `text` is exactly what stands at `span`, `section` the headings it stands under."""

    span: Span
    text: str
    section: str = ""

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
    """What a person asks now, with the turns before it, oldest first."""

    query_id: str
    text: str
    history: tuple[Turn, ...] = ()


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
class Request:
    """What a generator is given: the question, the contexts that it may read, best first, and the rendered messages."""

    query: Query
    contexts: tuple[Chunk, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a generator gave back. `citations` are numbers of contexts (from 1); `cost` is in US dollars, NaN if unknown."""

    text: str
    citations: tuple[int, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A question answered: what was replied, and the contexts it was answered from."""

    query: Query
    contexts: Ranking
    reply: Reply


@dataclass(frozen=True, slots=True)
class Evidence:
    """One group of gold: satisfied when any of its alternatives is found. A bare `doc_id` means the whole document."""

    alternatives: tuple[Span | str, ...]
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Example:
    """A golden question. `evidence` groups are all needed; none means that the corpus cannot answer it.

    `cluster` is the unit that is resampled when trials are compared; `judged` names documents that were looked at for this
    question, relevant or not.
    """

    query: Query
    evidence: tuple[Evidence, ...] = ()
    answers: tuple[str, ...] = ()
    kind: str = ""
    tags: tuple[str, ...] = ()
    split: str = ""
    cluster: str = ""
    judged: frozenset[str] = frozenset()
