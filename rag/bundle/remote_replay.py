"""Ask a server that has a bundle the golden questions of the bundle."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from rag.bundle import golden_cases
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.golden_cases import Case, cases_of
from rag.bundle.open_bundle import Bundle
from rag.bundle.strict_parse import is_encodable
from rag.core.errors import ServiceError, required
from rag.core.text.citations import without_markers
from rag.core.types import Message, Turn

TIMEOUT = 60.0
"""Seconds for one answer of the server."""
RETRIES = 5
"""How often a question is sent again after status 429."""


BEFORE = ("queries", "memory", "shape", "condense")
"""Roles whose models write what is searched for or shown."""


def replay_url(bundle: Bundle, url: str, key: str | None = None) -> Replay:
    """Ask a server the golden questions of its bundle, under any name, and compare as `replay` does.

    Questions go to /search and, if the answer must repeat, to /ask; those with a conversation before them go to
    /v1/chat/completions. Questions that would ask a model, or cannot be sent, are left out. ServiceError if the server cannot
    be asked.
    """
    required("rag bundle verify --url", "httpx")
    import httpx

    if urlsplit(url).scheme not in ("http", "https"):
        raise ServiceError(url, "is not the address of a server", "for example --url http://127.0.0.1:8000")
    result = Replay()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT) as client:
        try:
            if model := _model_of(client, bundle.digest, result):
                repeats = not golden_cases.asks([bundle.config[role] for role in golden_cases.ANSWERING])
                before = golden_cases.asks([bundle.config[role] for role in BEFORE])
                for case in cases_of(bundle):
                    case = case if repeats else replace(case, answer=None)
                    if why := "a model says what is searched for, or remembered" if before else _obstacle(case):
                        result.leave_out(why)
                    else:
                        _compare(case, client, model, result)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            what = f"answers in another form than rag serve: {error!r}"
            raise ServiceError(str(client.base_url), what, "name the address of rag serve") from error
    return result


def _obstacle(case: Case) -> str:
    """Why a question cannot be asked over HTTP; empty if it can."""
    if not all(map(is_encodable, (case.query.text, *(turn.text for turn in case.query.history)))):
        return "it holds half a character, which cannot be sent"
    if not case.query.history:
        return ""
    if case.answer is None:
        return "it has a conversation before it, and a model would answer it"
    if case.query.earlier:
        return "it uses again what its conversation found, which cannot be sent"
    # A server removes the markers from earlier answers, because the passages that they number are gone.
    unchanged = all(turn.text == without_markers(turn.text).strip() for turn in case.query.history)
    return "" if unchanged else "the conversation before it cannot be sent unchanged"


def _model_of(client: Any, digest: str, result: Replay) -> str:
    """The name that the bundle has on the server; a mismatch and an empty name if the server does not have it."""
    models = _sent(client, "/v1/models")["data"]
    if name := next((str(model["id"]) for model in models if model["bundle"] == digest), ""):
        return name
    result.mismatches.append(Mismatch("", "bundle", digest, ", ".join(str(model["bundle"]) for model in models)))
    return ""


def _compare(case: Case, client: Any, model: str, result: Replay) -> None:
    """Compare the answer to a question, or only its passages if the answer need not repeat."""
    question = {"question": case.query.text, "model": model}
    if case.query.history:
        turns = (*case.query.history, Turn("user", case.query.text))
        messages = [{"role": turn.role, "content": turn.text} for turn in turns]
        completion = _sent(client, "/v1/chat/completions", {"model": model, "messages": messages})
        content = {**completion["assay"], "answer": completion["choices"][0]["message"]["content"]}
    else:
        passages = _sent(client, "/search", question)["passages"]
        result.compare(case, "passages", case.retrieved, tuple(passage["chunk"] for passage in passages))
        if case.answer is None:
            return
        content = dict(_sent(client, "/ask", {**question, "show": ["prompt"]}))
        prompt = [Message(message["role"], message["content"]) for message in content.get("prompt") or ()]
        result.compare(case, "prompt", case.prompt, golden_cases.digest_of_messages(prompt))
    result.compare(case, "contexts", case.contexts, tuple(context["chunk"] for context in content["contexts"]))
    result.compare(case, "answer", case.answer, content["answer"])


def _sent(client: Any, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The JSON object that a server answers; ServiceError for any other answer, and for none."""
    import httpx

    where = f"{client.base_url}{path.lstrip('/')}"
    send = partial(client.post, path, json=body) if body else partial(client.get, path)
    try:
        response = send()
        for _ in range(RETRIES):
            if response.status_code != 429:
                break
            time.sleep(_seconds(response.headers.get("Retry-After")))
            response = send()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServiceError(where, f"cannot be reached ({error})", "start it: rag serve BUNDLE, or check the address") from error
    try:
        content = response.json() if response.content else {}
    except ValueError as error:
        what = f"answers with status {response.status_code}, and not with JSON"
        raise ServiceError(where, what, "check the address") from error
    if response.status_code != 200:
        detail = content.get("detail") or content.get("title") or "" if isinstance(content, dict) else ""
        remedy = "name the variable that holds a key: --key-env NAME" if response.status_code == 401 else "look at its log"
        raise ServiceError(where, f"answers with status {response.status_code}: {detail}".rstrip(": "), remedy)
    if not isinstance(content, dict):
        raise TypeError(f"{where} does not answer with an object")
    return content


def _seconds(after: str | None) -> float:
    """The seconds of a Retry-After header, at most a minute; a second without one."""
    return min(float(after), 60.0) if after and after.isdecimal() else 1.0
