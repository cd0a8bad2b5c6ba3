"""The records that packages exchange. All are immutable; offsets count Unicode code points, end exclusive.

Those of documents and of golden questions are defined in modules of their own, and imported from here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rag.core.documents import BLOCKS, Block, Box, Chunk, Document, Parsed, Redaction, Span, Value
from rag.core.looks import Condensed, Look
from rag.core.questions import (
    ALL,
    FATES,
    INPUTS,
    REPLIED,
    SET,
    SPLITS,
    Anchor,
    Evidence,
    Example,
    Expected,
    Fate,
    Found,
    Place,
    Query,
    Turn,
    document_of,
    spans_of,
)

Vectors = NDArray[np.float32]
"""Embeddings, shape (texts, dimensions)."""

Allowed = NDArray[np.bool_]
"""The positions of a corpus that a search may return, shape (chunks,)."""

Arrays = Mapping[str, NDArray[Any]]
"""Named arrays without Python objects: the data of an index, and of an entry of the store."""


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
    first character, 0 if the document has no pages. `metadata` are those of the document. `figures` are the [start, end) of
    `text` that a model wrote about pictures.
    """

    document: str
    title: str
    section: str
    text: str
    page: int = 0
    metadata: Mapping[str, Value] = field(default_factory=dict)
    figures: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """The input of a prompt. `contexts` are numbered from 1; `pinned` are whole documents; `before` and `after` as in Framed.

    `results` are texts of records, framed like contexts and without a number. `condensed` replaces the contexts in a prompt
    that can show it, its texts framed; `headers` are the lines of a shape. A context is the text of `Quoting.quoted`, if the
    prompt has that method, as guards changed it. `files` names the file of each context where files replace the search.
    """

    query: Query
    contexts: tuple[str, ...]
    recalled: Recalled = Recalled()
    pinned: tuple[Document, ...] = ()
    before: str = ""
    after: str = ""
    results: tuple[str, ...] = ()
    condensed: Condensed | None = None
    headers: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()


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
    An error of all requests, such as a wrong key, is raised instead. `finish` is how the reply ended, in OpenAI's words, empty
    if no server said it. `thoughts` stand before the answer and are no part of it. `notes` become findings: source → sentence.
    """

    text: str
    citations: tuple[int, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    failure: str = ""
    finish: str = ""
    thoughts: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)


Action = Literal["flag", "quarantine", "abstain", "remove", "refuse", "regenerate"]
"""Tell the reader, remove a context, answer without the model, cut from the reply, replace it, or generate again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that the check or guard `source` found.

    It concerns the characters [start, end) of context number `context`, or of the reply if that is 0. For a retrieved passage
    `passage` is the chunk_id; a removed passage is not a context any more, and its number is 0. `advice` is part of the prompt
    if the reply is generated again. `input` is the kind of the message, one of INPUTS, where the finding says one; with the
    action `abstain`, `reply` answers it.
    """

    source: str
    what: str
    action: Action = "flag"
    context: int = 0
    start: int = 0
    end: int = 0
    advice: str = ""
    passage: str = ""
    input: str = ""
    reply: str = ""


def input_of(findings: Sequence[Finding]) -> str:
    """The kind of a message, one of INPUTS, that findings on its answer say: the last one counts, and none is a question."""
    return next((finding.input for finding in reversed(findings) if finding.input), "question")


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to a question, and its contexts, numbered from 1.

    `abstained`: the reply declines to answer, or is that of a check to a message that is no question. `sought` is the search,
    `left_out` are retrieved passages that the model was not shown, each by its first chunk; `look` is None for one search of
    passages.
    """

    query: Query
    contexts: Ranking
    reply: Reply
    findings: tuple[Finding, ...] = ()
    abstained: bool = False
    sought: Sought | None = None
    left_out: Ranking = ()
    look: Look | None = None

    @property
    def input(self) -> str:
        """The kind of the message, one of INPUTS, as a check or the model takes it."""
        return input_of(self.findings)
