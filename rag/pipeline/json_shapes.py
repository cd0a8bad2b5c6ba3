"""The JSON shapes of passages and answers, the same in `rag ask --json`, `rag why --json`, Python and the server.

All offsets count Unicode code points, end exclusive.
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

Metadata = dict[str, str | int | float | bool]


class Step(TypedDict):
    """The rank of a passage after a step, from 1, and the score that ranked it."""

    rank: int
    score: float


class Passage(TypedDict):
    """A passage: the characters [start, end) of a document. `section` holds the headings above most of its text."""

    number: int
    chunk: str
    doc_id: str
    start: int
    end: int
    section: str
    text: str
    score: float
    metadata: Metadata


class FoundPassage(Passage):
    """A passage that a search found, with its rank and score after each step."""

    steps: dict[str, Step]


class PassageFate(TypedDict):
    """What happened to a candidate passage: `number` of the source, or null if it was dropped; `why` says where."""

    chunk: str
    doc_id: str
    start: int
    end: int
    section: str
    text: str
    number: int | None
    kept: bool
    why: str
    steps: dict[str, Step]


class PassageTrace(TypedDict):
    """All candidate passages of a question."""

    passages: list[PassageFate]


class Place(TypedDict):
    """The characters [start, end) of a document."""

    start: int
    end: int


class Citation(TypedDict):
    """The marker at [start, end) of the answer cites source `number`; `quote` is the cited text, `section` its headings."""

    number: int
    start: int
    end: int
    doc_id: str
    span: Place
    quote: str
    section: str
    metadata: Metadata


class Notice(TypedDict):
    """A finding of a check or guard in source number `context`, or in the answer if `context` is 0."""

    source: str
    what: str
    action: Literal["flag", "quarantine", "abstain", "remove", "refuse", "regenerate"]
    context: int
    start: int
    end: int
    advice: str
    passage: str


class SearchedFor(TypedDict):
    """The question as a standalone text, the texts that were searched for, and a note about a fallback."""

    question: str
    texts: list[str]
    note: str


class Tokens(TypedDict):
    """Numbers of tokens that the model read and wrote."""

    prompt: int
    completion: int


class PipelineAnswer(TypedDict):
    """An answer with its sources. `cost_usd` is in US dollars, null if the price is not known."""

    question: str
    answer: str
    abstained: bool
    sought: SearchedFor
    citations: list[Citation]
    contexts: list[Passage]
    findings: list[Notice]
    tokens: Tokens
    cost_usd: float | None
    trace: NotRequired[PassageTrace]
