"""The JSON shapes of passages and answers, the same in `rag ask --json`, `rag study why --json`, Python and the server.

All offsets count Unicode code points, end exclusive.
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

Input = Literal["question", "pleasantry", "conversation", "off_topic"]
Finish = Literal["stop", "length", "content_filter", "tool_calls"]
Value = str | int | float | bool
Metadata = dict[str, Value]


RecordCell = Value | list[str] | None


class DocumentRecord(TypedDict):
    """A record: its table, its values by field (null where not known), and the characters [start, end) that state them."""

    table: str
    record: str
    start: int
    end: int
    values: dict[str, RecordCell]


class Step(TypedDict):
    """The rank of a passage after a step, from 1, and the score that ranked it."""

    rank: int
    score: float


class Pages(TypedDict):
    """The first and the last page of a text, from 1."""

    first: int
    last: int


class PageBox(TypedDict):
    """A rectangle on a page, as shares of its width and height: left, top, right, bottom, from the top left."""

    page: int
    kind: str
    box: tuple[float, float, float, float]


class ChunkText(TypedDict):
    """A chunk: the characters [start, end) of a document, which is named by its file.

    `section` holds the headings above most of its text; `page` is null for a document without pages.
    """

    chunk: str
    doc_id: str
    start: int
    end: int
    section: str
    page: Pages | None
    text: str


class Passage(ChunkText):
    """A chunk with its number, from 1, the score that ranked it, and the metadata of its document."""

    number: int
    score: float
    metadata: Metadata


class FoundPassage(Passage):
    """A passage that a search found, with its rank and score after each step.

    `indexed` is the text that indexes, embedder and reranker read, null if it is `text`.
    """

    steps: dict[str, Step]
    indexed: str | None


class PassageFate(ChunkText):
    """What happened to a candidate passage: `number` of the source, or null if it was dropped; `why` says where."""

    number: int | None
    kept: bool
    why: str
    steps: dict[str, Step]


class PassageTrace(TypedDict):
    """All candidate passages of a question, and the thoughts of the model before its answer."""

    passages: list[PassageFate]
    thoughts: str


class Place(TypedDict):
    """The characters [start, end) of a document."""

    start: int
    end: int


class Citation(TypedDict):
    """The marker at [start, end) of the answer cites source `number`.

    `quote` is the cited text, `section` its headings, `page` its pages, null for a document without pages; `boxes` are those of
    the blocks that it touches.
    """

    number: int
    start: int
    end: int
    doc_id: str
    span: Place
    quote: str
    section: str
    page: Pages | None
    boxes: list[PageBox]
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
    input: str
    reply: str


class SearchedFor(TypedDict):
    """The question as a standalone text, the texts that were searched for, and a note about a fallback."""

    question: str
    texts: list[str]
    note: str


class Tokens(TypedDict):
    """Numbers of tokens that the model read and wrote."""

    prompt: int
    completion: int


class SentMessage(TypedDict):
    """A message that was sent to the model."""

    role: Literal["system", "user", "assistant"]
    content: str


class RecordPlace(Place):
    """The characters [start, end) of the document `doc_id`, which state a record."""

    doc_id: str


class FoundRecords(TypedDict):
    """The result of a query by column, the number of further rows, and the places of the records that it comes from."""

    columns: list[str]
    rows: list[list[RecordCell]]
    value: str
    values: list[str]
    left_out: int
    sources: list[RecordPlace]


class AnswerShape(TypedDict):
    """What a question asks for: intent, domain (both may be empty), and the lines of the prompt by name."""

    intent: str
    domain: str
    headers: dict[str, str]


class CondensedItem(TypedDict):
    """A text that the prompt shows instead of passages, with the numbers of its sources."""

    text: str
    sources: list[int]


class LookedStep(TypedDict):
    """One step of a policy; `found` are the chunks that it found first; `failure` is why it did nothing."""

    act: str
    given: str
    observed: str
    found: list[str]
    failure: str
    tokens: int
    cost_usd: float | None
    seconds: float


class AnswerLook(TypedDict):
    """How an answer was found: its route and the reason, the query of records in words, its result, and all steps.

    `shape` and `condensed` are null without a shaper, and where the prompt shows the passages themselves. `note` says why a
    fallback was used. `tokens` and `cost_usd` are those of the route and of all steps.
    """

    route: str
    why: str
    note: str
    query: str | None
    result: FoundRecords | None
    steps: list[LookedStep]
    shape: AnswerShape | None
    condensed: dict[Literal["facts", "constraints", "open_issues"], list[CondensedItem]] | None
    tokens: int
    cost_usd: float | None


class PipelineAnswer(TypedDict):
    """An answer with its sources. `cost_usd` is in US dollars, null if the price is not known; `prompt` is what was sent.

    `input` is the kind of the message. A check replies to some that are no question: then `abstained` is true, because the
    reply says nothing of the documents. `finish` is why the model stopped. `look` is there where the question has a route or a
    policy looked for it. Its tokens are not in `tokens`, and its cost is in `cost_usd`. `overall_pass` is there where a check
    of this name judged the answer; its finding has the figures, and the error of the judge.
    """

    question: str
    answer: str
    abstained: bool
    input: Input
    finish: Finish
    sought: SearchedFor
    citations: list[Citation]
    contexts: list[Passage]
    findings: list[Notice]
    tokens: Tokens
    cost_usd: float | None
    look: NotRequired[AnswerLook]
    overall_pass: NotRequired[bool]
    trace: NotRequired[PassageTrace]
    prompt: NotRequired[list[SentMessage]]
