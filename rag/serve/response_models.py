"""What the server answers with, field by field: the part of the API's description that people build clients from.

Answers are written without these models, for they are made here and need no checking; that they keep to them is tested.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rag.serve.request_models import QUESTION


class ResponsePart(BaseModel):
    """Part of an answer: every field is always there unless it says otherwise."""

    model_config = ConfigDict(extra="forbid")


class Problem(ResponsePart):
    """What went wrong (RFC 9457), and what would do."""

    type: str = Field(examples=["urn:assay:not-found"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["model: there is no 'best'"])
    remedy: str = Field(examples=["there is: hybrid-3fa1c2b4d5e6"])


class Step(ResponsePart):
    """Where a passage stood after a step: its rank, from 1, and the score that ranked it."""

    rank: int
    score: float


Metadata = dict[str, str | int | float | bool]


class Passage(ResponsePart):
    """A passage: the characters [start, end) of a document. `section` are the headings that most of it stands under."""

    number: int
    chunk: str = Field(examples=["leave/annual-leave.md:619-1160"])
    doc_id: str
    start: int
    end: int
    section: str
    text: str
    score: float
    metadata: Metadata


class Ranked(Passage):
    """A passage that was found, and where it stood after each step."""

    steps: dict[str, Step]


class Answered(ResponsePart):
    """What every answer says of itself: an id, the model, and the hash of its bundle."""

    id: str = Field(pattern="^ans_[0-9a-f]{24}$")
    model: str
    bundle: str = Field(pattern="^[0-9a-f]{64}$")
    question: str = Field(examples=[QUESTION])
    timings: dict[str, float] = Field(description="Seconds by step, and in `total`.")


class Searched(Answered):
    """The passages of a search, best first."""

    passages: list[Ranked]


class Place(ResponsePart):
    """The characters [start, end) of a document."""

    start: int
    end: int


class Citation(ResponsePart):
    """The marker at [start, end) of the answer cites source `number`, `quote` as it was shown, `section` are its headings."""

    number: int
    start: int
    end: int
    doc_id: str
    span: Place
    quote: str
    section: str
    metadata: Metadata


class Noticed(ResponsePart):
    """What a check or guard noticed, in source number `context` or, where that is 0, in the answer."""

    source: str
    what: str
    action: Literal["flag", "quarantine", "abstain", "remove", "refuse", "regenerate"]
    context: int
    start: int
    end: int
    advice: str
    passage: str


class SoughtFor(ResponsePart):
    """What was searched for: the question as it stands alone, the texts, and what was fallen back to."""

    question: str
    texts: list[str]
    note: str


class Tokens(ResponsePart):
    """What the model read and wrote."""

    prompt: int
    completion: int


class Fate(ResponsePart):
    """What became of a passage: `number` of the source that it is, or why it was dropped."""

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


class Trace(ResponsePart):
    """Every passage that had a chance."""

    passages: list[Fate]


class Sent(ResponsePart):
    """A message as the model was sent it."""

    role: Literal["system", "user", "assistant"]
    content: str


class Answer(Answered):
    """An answer with its sources. `trace` and `prompt` are there where `show` asks for them."""

    answer: str
    abstained: bool
    sought: SoughtFor
    citations: list[Citation]
    contexts: list[Passage]
    findings: list[Noticed]
    tokens: Tokens
    cost_usd: float | None = Field(description="US dollars; null where the price is not known.")
    session: str | None
    turn: int | None
    trace: Trace | None = Field(default=None)
    prompt: list[Sent] | None = Field(default=None)


class Listed(ResponsePart):
    """A document: its length in Unicode code points, its headings."""

    id: str
    title: str
    characters: int
    metadata: Metadata
    sections: list[str]


class Documents(ResponsePart):
    """A page of documents, of `total`."""

    model: str
    total: int
    offset: int
    documents: list[Listed]


class Text(Listed):
    """A document and its text."""

    text: str


class OpenModel(ResponsePart):
    """A model that is ready."""

    model: str
    bundle: str


class Health(ResponsePart):
    """The server answers; `models` only where readiness was asked for."""

    status: Literal["ok"]
    models: list[OpenModel] = Field(default=[])


class Turn(Answer):
    """A turn of a session; `at` is seconds since 1970."""

    at: float


class Session(ResponsePart):
    """A conversation; times in seconds since 1970."""

    session: str
    created: float
    expires: float
    turns: list[Turn]
