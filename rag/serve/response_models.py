"""The JSON that the server returns, as types: routes build it, and the description of the API is made from it."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from rag.bundle.document_lines import TextBlock
from rag.pipeline.shapes.json_shapes import DocumentRecord, Finish, FoundPassage, Metadata, PipelineAnswer, Place, RecordCell


class Problem(TypedDict):
    """What went wrong (RFC 9457), and what would fix it."""

    type: Annotated[str, Field(examples=["urn:assay:not-found"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["model: there is no 'best'"])]
    remedy: Annotated[str, Field(examples=["there is: hybrid-3fa1c2b4d5e6"])]


class Head(TypedDict):
    """The id of a response, its model, and the hash of the bundle; seconds by step, and in `total`.

    `stand_ins` has a sentence for each choice that replaces a missing part of the model's preset, if there is one.
    """

    id: Annotated[str, Field(pattern="^ans_[0-9a-f]{24}$")]
    model: str
    bundle: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    timings: dict[str, float]
    stand_ins: NotRequired[list[str]]


class Searched(Head):
    """The passages of a search, best first."""

    question: str
    passages: list[FoundPassage]


class Answer(Head, PipelineAnswer):
    """An answer with its sources, and the documents that the question names. `show` asks for `trace` and `prompt`."""

    proposed_lock: list[str]
    session: str | None
    turn: int | None


class ListedDocument(TypedDict):
    """A document: its length in Unicode code points, its number of pages (0 for formats without), its headings.

    `record` are the values of its record by field, null where not known; empty without a record.
    """

    id: str
    title: str
    characters: int
    pages: int
    metadata: Metadata
    record: dict[str, RecordCell]
    sections: list[str]


class Documents(TypedDict):
    """A page of the list of documents; `total` counts all."""

    model: str
    total: int
    offset: int
    documents: list[ListedDocument]


class RedactedText(Place):
    """A placeholder at the characters [start, end) of a document, in place of a value that `rule` found."""

    rule: str


class DocumentChunk(Place):
    """A chunk: the characters [start, end) of a document, its tokens, and flags to look at, such as `tiny` or `cut`."""

    tokens: int
    flags: list[str]


class DocumentText(ListedDocument):
    """A document and its text, with its records, blocks in reading order (none for plain text), chunks, redactions, flags."""

    flags: list[str]
    redactions: list[RedactedText]
    records: list[DocumentRecord]
    blocks: list[TextBlock]
    chunks: list[DocumentChunk]
    text: str


class ReadyModel(TypedDict):
    """A model that is ready, the hash of its bundle, and sentences on what stands in for missing parts of its preset."""

    model: str
    bundle: str
    stand_ins: list[str]


class Health(TypedDict):
    """The server answers; /readyz lists the `models`."""

    status: Literal["ok"]
    models: NotRequired[list[ReadyModel]]


class SessionTurn(Answer):
    """A turn of a session; `at` is in seconds since 1970."""

    at: float


class Session(TypedDict):
    """A conversation; times are in seconds since 1970."""

    session: str
    created: float
    expires: float
    turns: list[SessionTurn]


class OpenAiError(TypedDict):
    """The error of an OpenAI response."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiProblem(TypedDict):
    """What went wrong, as OpenAI's API says it."""

    error: OpenAiError


class ListedModel(TypedDict):
    """A model as OpenAI's API lists it.

    `title` describes it in words, `experiment` names the one that measured it (empty if none did), `follows` says whether
    earlier turns change what is searched for, `agents` what `within.off` can leave out, and `stand_ins` what replaces missing
    parts of its preset.
    """

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    title: str
    experiment: str
    bundle: str
    follows: bool
    agents: list[str]
    stand_ins: list[str]


class Models(TypedDict):
    """The models, the default first."""

    object: Literal["list"]
    data: list[ListedModel]


class Choice(TypedDict):
    """The answer, with its citations as annotations."""

    index: int
    message: dict[str, Any]
    logprobs: None
    finish_reason: Finish


class Usage(TypedDict):
    """Numbers of tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(TypedDict):
    """A chat completion; `assay` holds the parts of an answer that have no field in OpenAI's API."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    assay: dict[str, Any]
