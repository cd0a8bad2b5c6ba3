"""What the routes of OpenAI's API answer with, field by field."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from rag.serve.response_models import ResponsePart


class Wrong(ResponsePart):
    """What went wrong, for OpenAI's clients."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiProblem(ResponsePart):
    """What went wrong, for OpenAI's clients."""

    error: Wrong


class Offered(ResponsePart):
    """A model as OpenAI's clients know one."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    title: str = Field(description="What it is, in words.")
    experiment: str = Field(description="The experiment that it was measured in; empty where there is none.")
    bundle: str
    follows: bool = Field(description="Whether what was said before counts in what is searched for.")


class Offers(ResponsePart):
    """The models, the default first."""

    object: Literal["list"]
    data: list[Offered]


class Choice(BaseModel):
    """The answer, with what it cites as annotations."""

    index: int
    message: dict[str, Any]
    logprobs: None
    finish_reason: Literal["stop"]


class Usage(ResponsePart):
    """Counts of tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completed(ResponsePart):
    """A chat completion; `assay` has everything that OpenAI's fields have no room for."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    assay: dict[str, Any]
