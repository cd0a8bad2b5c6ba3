"""OpenAI's API, for clients that know no other: its requests, and answers in its form."""

import time
from collections.abc import AsyncIterator
from typing import Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from rag.bundle.strict_parse import Text
from rag.core.errors import UserError
from rag.core.text.citations import without_markers
from rag.core.types import Turn
from rag.pipeline.conversation.live_history import UNSAID
from rag.pipeline.shapes.json_shapes import Citation
from rag.serve.answer_job import AnswerJob
from rag.serve.loaded_bundles import Model
from rag.serve.openapi import responses_of
from rag.serve.request_handler import RequestHandler, handler_of, owner_of
from rag.serve.request_log import CLIENT_GONE
from rag.serve.request_models import QUESTION, AskBody, Within
from rag.serve.response_models import Answer, ChatCompletion, ListedModel, Models, OpenAiProblem, Usage
from rag.serve.responses import json_bytes, json_response

router = APIRouter(prefix="/v1", tags=["OpenAI"])


class OpenBody(BaseModel):
    """A part of a request; fields that are not known are ignored."""

    model_config = ConfigDict(extra="allow")


class Part(OpenBody):
    """A part of a message; only text is read."""

    type: str
    text: Text | None = None


class ChatMessage(OpenBody):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[Part] | None = None

    @property
    def text(self) -> str:
        """The text of all parts; UserError if one is not a text."""
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" or part.text is None for part in self.content):
            raise UserError("messages", "hold a part that is not a text", "send text alone")
        return "".join(part.text or "" for part in self.content)

    @property
    def turn(self) -> Turn:
        """The message as a later question reads it: an answer loses its markers, which number earlier passages."""
        if self.role == "user":
            return Turn("user", self.text.strip() or UNSAID)
        return Turn("assistant", without_markers(self.text).strip() or UNSAID)


class StreamOptions(OpenBody):
    """Options of a stream."""

    include_usage: bool | None = None


class Completion(OpenBody):
    """A conversation that ends with a question.

    Parameters of the model, such as `temperature` or a system message, are accepted and ignored: a bundle answers as it was
    measured.
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
    within: Within | None = Field(default=None, description="Restricts the search; not part of OpenAI's API.")

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the numbers of tokens."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def question_and_turns(self) -> tuple[AskBody, list[Turn]]:
        """The question and the turns before it; UserError if the last message is not a question of the user."""
        *before, last = self.messages
        if last.role != "user" or not last.text.strip():
            raise UserError("messages", "do not end with a question", "the last message is the user's, with text")
        body = AskBody(question=last.text, model=self.model, within=self.within)
        return body, [message.turn for message in before if message.role in ("user", "assistant")]


def annotations(answer: Answer, base: str) -> list[dict[str, Any]]:
    """The citations of an answer: the places of the markers, and URLs that open the documents at the quotes."""
    return [{"type": "url_citation", "url_citation": _url_citation(citation, base)} for citation in answer["citations"]]


def _url_citation(citation: Citation, base: str) -> dict[str, Any]:
    url = f"{base}documents/{quote(citation['doc_id'])}#{citation['span']['start']}-{citation['span']['end']}"
    title = str(citation["metadata"].get("title") or citation["doc_id"])
    return {"start_index": citation["start"], "end_index": citation["end"], "url": url, "title": title}


def _usage(answer: Answer) -> Usage:
    prompt, completion = answer["tokens"]["prompt"], answer["tokens"]["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


ASSAY_FIELDS = (
    *("id", "bundle", "abstained", "input", "sought", "citations", "contexts", "findings"),
    *("timings", "cost_usd", "stand_ins"),
)


def assay_part(answer: Answer) -> dict[str, Any]:
    """The parts of an answer that have no field in OpenAI's API."""
    return {name: value for name, value in answer.items() if name in ASSAY_FIELDS}


def completion(answer: Answer, base: str) -> ChatCompletion:
    """An answer as a chat completion; `base` is the URL of the server."""
    message = {"role": "assistant", "content": answer["answer"], "refusal": None, "annotations": annotations(answer, base)}
    return {
        "id": f"chatcmpl-{answer['id']}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": answer["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": answer["finish"]}],
        "usage": _usage(answer),
        "assay": assay_part(answer),
    }


def chunk(answer_id: str, model: str, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A piece of a streamed completion."""
    piece = {"id": f"chatcmpl-{answer_id}", "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
    return piece | {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}


@router.post("/chat/completions", responses=responses_of(ChatCompletion, streams=True, problem=OpenAiProblem))
async def completions(body: Completion, request: Request) -> Response:
    """Answer the last message of a conversation; citations are in `annotations`, everything else is under `assay`."""
    handler = handler_of(request)
    job = await handler.search(*body.question_and_turns())
    if body.stream:
        return handler.stream(request, job, _chunks(handler, request, body, job), b"data: [DONE]\n\n")
    answer = await handler.complete(request, job)
    if answer is None:
        return Response(status_code=CLIENT_GONE)
    return json_response(completion(answer, str(request.base_url)), job.model.headers)


async def _chunks(handler: RequestHandler, request: Request, body: Completion, job: AnswerJob) -> AsyncIterator[bytes]:
    name = job.model.name
    yield _data(chunk(job.id, name, {"role": "assistant", "content": ""}))
    async for piece in job.pieces(handler.pool):
        yield _data(chunk(job.id, name, {"content": piece}))
    answer = await handler.store_answer(owner_of(request), job)
    last = chunk(job.id, name, {"annotations": annotations(answer, str(request.base_url))}, answer["finish"])
    yield _data(last | {"assay": assay_part(answer)})
    if body.wants_usage:
        yield _data(chunk(job.id, name, {}) | {"choices": [], "usage": _usage(answer)})


def _data(payload: object) -> bytes:
    return b"data: %s\n\n" % json_bytes(payload)


@router.get("/models", responses=responses_of(Models, problem=OpenAiProblem))
async def models(request: Request) -> Response:
    """List the models, the default first."""
    return json_response({"object": "list", "data": [_listed(model) for model in handler_of(request).served.models]})


@router.get("/models/{model}", responses=responses_of(ListedModel, problem=OpenAiProblem))
async def model(model: str, request: Request) -> Response:
    """Describe one model."""
    found = handler_of(request).served.pick(model)
    return json_response(_listed(found), found.headers)


def _listed(model: Model) -> ListedModel:
    return {
        "id": model.name,
        "object": "model",
        "created": model.opened,
        "owned_by": "assay",
        "title": model.title,
        "experiment": model.bundle.manifest.experiment,
        "bundle": model.bundle.digest,
        "follows": model.follows,
        "agents": model.bundle.pipeline.agents,
        "stand_ins": model.bundle.stand_ins,
    }
