"""OpenAI's chat completions: what their clients send, and what they want to read."""

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rag.core.errors import UserError
from rag.core.records import Turn
from rag.core.text.citations import without_markers
from rag.pipeline.live_history import UNSAID
from rag.serve.request_models import QUESTION, AskBody, Within


def whole(text: str) -> str:
    """A text that can be written; ValueError for one with half a character in it, which JSON can hold and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character") from None
    return text


Words = Annotated[str, AfterValidator(whole)]


class Part(BaseModel):
    """A part of a message; only text is understood."""

    model_config = ConfigDict(extra="allow")
    type: str
    text: Words | None = None


class ChatMessage(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Words | list[Part] | None = None

    @property
    def words(self) -> str:
        """The text; UserError for anything that is no text."""
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" or part.text is None for part in self.content):
            raise UserError("messages", "hold a part that is no text", "send text alone")
        return "".join(part.text or "" for part in self.content)


class StreamOptions(BaseModel):
    """What else a stream tells."""

    model_config = ConfigDict(extra="allow")
    include_usage: bool | None = None


class Completion(BaseModel):
    """A conversation that ends with a question.

    What steers a model, such as `temperature` or a system message, is taken and not used: a bundle answers as it was measured.
    """

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"model": "default", "messages": [{"role": "user", "content": QUESTION}]}]},
    )
    model: str = Field(description="One of GET /v1/models, or `default`.")
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = Field(default=None, description="There is one answer.")
    within: Within | None = Field(default=None, description="Where is searched; no part of OpenAI's API.")

    @property
    def usage(self) -> bool:
        """Whether a stream ends with counts of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def question_and_turns(self) -> tuple[AskBody, list[Turn]]:
        """The question and the turns before it; UserError where the last message asks nothing."""
        *before, last = self.messages
        if last.role != "user" or not last.words.strip():
            raise UserError("messages", "do not end with a question", "the last message is the user's, with text")
        body = AskBody(question=last.words, model=self.model, within=self.within)
        return body, [_turn(one) for one in before if one.role in ("user", "assistant")]


def _turn(said: ChatMessage) -> Turn:
    """A message as a later question sees it: an answer without its markers, which number passages that are gone."""
    if said.role == "user":
        return Turn("user", said.words.strip() or UNSAID)
    return Turn("assistant", without_markers(said.words).strip() or UNSAID)


def annotations(told: dict[str, Any], base: str) -> list[dict[str, Any]]:
    """What an answer cites, where: places in the answer, and an address that opens the document there."""
    return [{"type": "url_citation", "url_citation": _citation(one, base)} for one in told["citations"]]


def _citation(one: dict[str, Any], base: str) -> dict[str, Any]:
    address = f"{base}documents/{quote(one['doc_id'])}#{one['span']['start']}-{one['span']['end']}"
    title = str(one["metadata"].get("title") or one["doc_id"])
    return {"start_index": one["start"], "end_index": one["end"], "url": address, "title": title}


def usage(told: dict[str, Any]) -> dict[str, int]:
    """Counts of tokens."""
    prompt, completion = told["tokens"]["prompt"], told["tokens"]["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


OURS = ("id", "bundle", "abstained", "sought", "citations", "contexts", "findings", "timings", "cost_usd")
"""What of an answer stands beside OpenAI's fields, under `assay`."""


def completion(told: dict[str, Any], base: str) -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": told["answer"], "refusal": None, "annotations": annotations(told, base)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = _head(told["id"], "chat.completion", told["model"])
    return head | {"choices": [choice], "usage": usage(told), "assay": {name: told[name] for name in OURS}}


def chunk(answer: str, model: str, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A piece of a streamed completion."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _head(answer, "chat.completion.chunk", model) | {"choices": [choice]}


def last_chunk(told: dict[str, Any]) -> dict[str, Any]:
    """The counts behind a stream."""
    none: Sequence[Any] = []
    return _head(told["id"], "chat.completion.chunk", told["model"]) | {"choices": none, "usage": usage(told)}


def _head(answer: str, kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer}", "object": kind, "created": int(time.time()), "model": model}
