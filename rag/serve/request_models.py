"""What is sent to the server, checked before anything is done with it; unknown fields are refused, for they are misspelt."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1, pattern=r"\S")]
QUESTION = "How many days of leave do I get?"


class Closed(BaseModel):
    """A body with known fields only."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(Closed):
    """The characters [start, end) of a document."""

    doc_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class Within(Closed):
    """Where is searched: every condition that is given must hold.

    `whole` documents are read verbatim instead of being searched; `range` is the passage that a person selected.
    """

    documents: list[str] | None = Field(default=None, description="Only these documents.", examples=[["handbook/leave.md"]])
    sections: list[str] | None = Field(default=None, description="Only under these headings.")
    tags: dict[str, list[str | int | float | bool]] | None = Field(
        default=None, description="Metadata: one of the values of each key."
    )
    range: Range | None = Field(default=None, description="Only these characters of one document.")
    whole: list[str] | None = Field(default=None, description="These documents verbatim, nothing is searched.")


class AskRequest(Closed):
    """A question, and where it is looked for."""

    question: Text = Field(examples=[QUESTION], description="In plain words.")
    model: str | None = Field(default=None, description="One of GET /v1/models, or a bundle's hash; null is the first.")
    within: Within | None = None


class SearchBody(AskRequest):
    """What to find passages for."""

    k: int | None = Field(
        default=None, ge=1, le=100, description="How many passages; null is as many as are read for an answer."
    )
    show: list[Literal["trace", "prompt"]] = Field(default=[], description="Ignored: a search shows its steps.")
    stream: bool = Field(default=False, description="Ignored: passages come at once.")


class AskBody(AskRequest):
    """What to answer."""

    show: list[Literal["trace", "prompt"]] = Field(
        default=[], description="What else to tell: passages kept and dropped, messages."
    )
    stream: bool = Field(
        default=False, description="Server-sent events `passages`, `piece`, `answer`, `error` instead of JSON."
    )


class ChatBody(AskBody):
    """What to answer after what was said before."""

    session: str | None = Field(default=None, description="As an answer gave it; null begins a conversation.")
