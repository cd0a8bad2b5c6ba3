"""The Protocols of records, routes, policies, shapers and condensers: what happens between a question and its prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rag.core.corpus import Corpus
from rag.core.looks import Condensed, LookStep, Shape
from rag.core.rankings import Rankings
from rag.core.records.queries import RecordQuery, Result, Routed
from rag.core.records.sets import RecordSet
from rag.core.types import Chunk, Document, Framed, Query, Recalled, Sought, Vectors


@runtime_checkable
class Enricher(Protocol):
    """Makes records of documents."""

    def enrich(self, documents: Sequence[Document]) -> RecordSet:
        """The records of a corpus; what cannot be filled is None and listed in `failures`."""


@runtime_checkable
class Roster(Protocol):
    """Joins records with an authoritative table."""

    def join(self, records: RecordSet) -> RecordSet:
        """The records with the fields of the table, and in `reconciled` how each was joined."""


@runtime_checkable
class Router(Protocol):
    """Decides by which mechanism a question is answered, and makes the query of records."""

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        """One per question; a query names only tables and fields that exist."""


class Tools(Protocol):
    """What a policy may use for one question. Every search and every query of records is a step of the trajectory."""

    @property
    def corpus(self) -> Corpus:
        """The chunks."""

    @property
    def records(self) -> RecordSet:
        """The records of the documents."""

    @property
    def k(self) -> int:
        """The number of hits in a prompt."""

    @property
    def sought(self) -> Sought:
        """The standalone question, and the search texts that the rewriter made of it."""

    def search(self, texts: Sequence[str]) -> Rankings:
        """One ranking of all texts, fused as in a single look, not reranked."""

    def rerank(self, question: str, found: Sequence[Rankings]) -> Rankings:
        """One ranking of everything that was found, each chunk once: by the reranker against the question, or by turns."""

    def read(self, ranking: Rankings | None, results: Sequence[str] = ()) -> Framed:
        """The first k passages, then texts of records, as a model may read them: screened, cut to the limit, and framed.

        What a screen takes out is missing.
        """

    def query_records(self, query: RecordQuery) -> Result:
        """The result of a query; UserError for one that does not fit the records."""


@dataclass(frozen=True)
class Looked:
    """The final ranking of a question, its search texts, the results of records that belong into the prompt, and all steps.

    Tokens and cost of models are those of the steps, not of `sought`. `failed` is why a model gave no reply at all.
    """

    ranking: Rankings
    sought: Sought
    results: tuple[str, ...] = ()
    steps: tuple[LookStep, ...] = ()
    failed: str = ""


@runtime_checkable
class Policy(Protocol):
    """Looks for the passages of a question, once or several times, within a limit of its own."""

    def look(self, query: Query, tools: Tools) -> Looked:
        """The passages for one question; a failure of a model ends the looking with what was found, never with an error."""


@runtime_checkable
class CappedPolicy(Protocol):
    """A Policy that asks a model, with its limits for one question."""

    @property
    def most_calls(self) -> int:
        """The most requests."""

    @property
    def tokens(self) -> int | None:
        """The most tokens of prompts and replies, None for no limit."""

    @property
    def grows(self) -> bool:
        """Whether a request repeats the passages of the requests before it."""


@dataclass(frozen=True)
class Reused:
    """The decision for one question: `share` of its hits from an earlier one (1, .5 or 0), and the place of that question."""

    share: float = 0.0
    earlier: int = -1
    why: str = ""


@runtime_checkable
class RetrievalMemory(Protocol):
    """Decides whether what a conversation found for an earlier question serves a new one."""

    def reuse(self, question: str, vector: Vectors, earlier: Sequence[str], vectors: Vectors) -> Reused:
        """The decision; `vector` has shape (1, dimensions), `vectors` has one row per earlier question, all of unit length."""


@dataclass(frozen=True)
class Asked:
    """What a shaper reads of one question.

    `question` can be understood alone, `project` is the text about the project, `recalled` the part of the conversation that
    the prompt shows, `titles` are those of all documents. In the audit after the search `before` is the shape so far, `read`
    the condensed context or the kept passages as guards frame them, and `sources` has the title of every kept passage.
    """

    query: Query
    question: str
    project: str = ""
    recalled: Recalled = field(default_factory=Recalled)
    titles: tuple[str, ...] = ()
    before: Shape | None = None
    read: Framed = field(default_factory=lambda: Framed(()))
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shaped:
    """A shape, what is searched for besides the question (or an empty text), why a fallback was used, what a model took."""

    shape: Shape
    search: str = ""
    failure: str = ""
    tokens: int = 0
    cost: float = 0.0


@runtime_checkable
class Shaper(Protocol):
    """Says what a question asks for, before the search and once more after it."""

    def shape(self, asked: Sequence[Asked]) -> list[Shaped]:
        """One per question; where a model fails there is another shape with a `failure`, in the audit the one before."""


@dataclass(frozen=True)
class Kept:
    """The passages that a prompt would show, numbered from 1, as chunks and as guards frame them for a model."""

    query: Query
    question: str
    passages: tuple[Chunk, ...]
    framed: Framed


@dataclass(frozen=True)
class Condensation:
    """A condensed context, or None and why there is none; what a model took."""

    condensed: Condensed | None
    failure: str = ""
    tokens: int = 0
    cost: float = 0.0


@runtime_checkable
class Condenser(Protocol):
    """Makes a short context of passages; the pipeline checks it against them (`rag.core.look_checks`)."""

    def condense(self, kept: Sequence[Kept]) -> list[Condensation]:
        """One per question."""
