"""Bodies of requests. Unknown fields are refused as typing errors."""

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

from rag.core.types import Message, Value

Text = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1, pattern=r"\S")]
QUESTION = "How many days of leave do I get?"


class ClosedBody(BaseModel):
    """A body with known fields only."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(ClosedBody):
    """The characters [start, end) of a document."""

    doc_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class Ends(ClosedBody):
    """A range of numbers, or of dates in ISO 8601; a year or a month alone stands for all of its days."""

    from_: str | int | float | None = Field(default=None, alias="from")
    to: str | int | float | None = None


class Within(ClosedBody):
    """Restricts the search; all given conditions must hold.

    `whole` documents are read verbatim instead of being searched; `range` is a passage that a person selected.
    """

    documents: list[str] | None = Field(default=None, description="Only these documents.", examples=[["handbook/leave.md"]])
    sections: list[str] | None = Field(default=None, description="Only under these headings.")
    metadata: dict[str, Value | list[Value] | Ends] | None = Field(
        default=None,
        validation_alias=AliasChoices("metadata", "tags"),
        description="Metadata of documents, or fields of their records, by key: a value, a list of which one must fit, "
        "or a range with its ends included.",
        examples=[{"status": "current", "department": ["pay", "leave"], "year": {"from": 2023, "to": 2024}}],
    )
    range: Range | None = Field(default=None, description="Only these characters of one document.")
    whole: list[str] | None = Field(default=None, description="Read these documents verbatim, without a search.")
    off: list[str] = Field(default=[], description="`agents` of the model to leave out; the answer is marked as not measured.")


class AskRequest(ClosedBody):
    """A question, its model, and where to search."""

    question: Text = Field(examples=[QUESTION], description="The question in natural language.")
    model: str | None = Field(default=None, description="One of GET /v1/models, or a bundle's hash; null is the first.")
    within: Within | None = None


Show = list[Literal["trace", "prompt"]]


class SearchBody(AskRequest):
    """A question to find passages for."""

    k: int | None = Field(
        default=None, ge=1, le=100, description="How many passages; null is as many as are read for an answer."
    )
    show: Show = Field(default=[], description="Ignored: a search shows its steps.")
    stream: bool = Field(default=False, description="Ignored: all passages come at once.")


class AskBody(AskRequest):
    """A question to answer."""

    show: Show = Field(default=[], description="Adds all candidate passages, or the messages sent to the model.")
    stream: bool = Field(
        default=False, description="Server-sent events `passages`, `piece`, `answer`, `error` instead of JSON."
    )
    preview: bool = Field(default=False, description="Ask no model: `tokens` and `cost_usd` are the most that it would take.")
    prompt: list[Message] = Field(default=[], description="Edited messages to send; the answer is marked as not measured.")
    read: list[str] = Field(default=[], description="The chunks of the contexts that `prompt` was made of, in their order.")


class ChatBody(AskBody):
    """A question to answer after earlier turns."""

    session: str | None = Field(default=None, description="The session of an earlier answer; null begins a conversation.")
