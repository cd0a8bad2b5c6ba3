"""OpenAI's interface, for clients that know no other."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request, Response

from rag.core.errors import UserError
from rag.serve import openai, problems
from rag.serve.answer_job import Asking
from rag.serve.json_output import written
from rag.serve.loaded_bundles import Model
from rag.serve.logs import tell_failure
from rag.serve.openai import Completion
from rag.serve.openapi import openai_promises
from rag.serve.request_handler import Desk, Events, desk_of, owner_of, sent
from rag.serve.request_log import broke
from rag.serve.response_models_openai import Completed, Offered, Offers

router = APIRouter(prefix="/v1", tags=["OpenAI"])


@router.post("/chat/completions", responses=openai_promises(Completed, streams=True))
async def completions(body: Completion, request: Request) -> Response:
    """Answer the last message of a conversation; what is cited stands in `annotations`, everything else under `assay`."""
    desk = desk_of(request)
    asked, history = body.question_and_turns()
    asking = await desk.take(asked, history)
    base = str(request.base_url)
    if body.stream:
        return Events(_pieces(desk, request, body, asking), asking)
    told = await desk.complete(request, asking)
    return told if isinstance(told, Response) else sent(openai.completion(told, base), asking.headers)


async def _pieces(desk: Desk, request: Request, body: Completion, asking: Asking) -> AsyncIterator[bytes]:
    name = asking.model.name
    try:
        yield _data(openai.chunk(asking.id, name, {"role": "assistant", "content": ""}))
        async for piece in asking.pieces(desk.pool):
            yield _data(openai.chunk(asking.id, name, {"content": piece}))
        told = await desk.store_answer(owner_of(request), asking.payload())
        last = {"annotations": openai.annotations(told, str(request.base_url))}
        yield _data(openai.chunk(asking.id, name, last, "stop") | {"assay": {part: told[part] for part in openai.OURS}})
        if body.usage:
            yield _data(openai.last_chunk(told))
    except UserError as error:
        broke(error)
        yield _data(problems.openai(problems.problem_from(error)))
    except Exception as error:
        broke(error)
        tell_failure(error, request.scope, desk.settings.log_texts)
        yield _data(problems.openai(problems.failure(error)))
    yield b"data: [DONE]\n\n"


def _data(told: object) -> bytes:
    return b"data: %s\n\n" % written(told)


@router.get("/models", responses=openai_promises(Offers))
async def models(request: Request) -> Response:
    """The models that may be asked, the default first."""
    return sent({"object": "list", "data": [_listed(model) for model in desk_of(request).served.models]}, {})


@router.get("/models/{model}", responses=openai_promises(Offered))
async def model(model: str, request: Request) -> Response:
    """One of them."""
    found = desk_of(request).served.pick(model)
    return sent(_listed(found), found.headers)


def _listed(model: Model) -> dict[str, object]:
    ours: dict[str, object] = {"title": model.title, "experiment": model.bundle.manifest.experiment}
    ours |= {"bundle": model.bundle.digest, "follows": model.follows}
    return {"id": model.name, "object": "model", "created": model.opened, "owned_by": "assay"} | ours
