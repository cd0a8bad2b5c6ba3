"""OpenAI's API, for clients that know no other."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request, Response

from rag.serve import openai
from rag.serve.answer_job import AnswerJob
from rag.serve.loaded_bundles import Model
from rag.serve.openai import Completion
from rag.serve.openapi import responses_of
from rag.serve.request_handler import RequestHandler, handler_of, owner_of
from rag.serve.request_log import CLIENT_GONE
from rag.serve.response_models import ChatCompletion, ListedModel, Models, OpenAiProblem
from rag.serve.responses import json_bytes, json_response

router = APIRouter(prefix="/v1", tags=["OpenAI"])


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
    return json_response(openai.completion(answer, str(request.base_url)), job.model.headers)


async def _chunks(handler: RequestHandler, request: Request, body: Completion, job: AnswerJob) -> AsyncIterator[bytes]:
    name = job.model.name
    yield _data(openai.chunk(job.id, name, {"role": "assistant", "content": ""}))
    async for piece in job.pieces(handler.pool):
        yield _data(openai.chunk(job.id, name, {"content": piece}))
    answer = await handler.store_answer(owner_of(request), job.answer_json())
    last = openai.chunk(job.id, name, {"annotations": openai.annotations(answer, str(request.base_url))}, "stop")
    yield _data(last | {"assay": openai.assay_part(answer)})
    if body.wants_usage:
        yield _data(openai.usage_chunk(answer))


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
        "stand_ins": model.bundle.stand_ins,
    }
