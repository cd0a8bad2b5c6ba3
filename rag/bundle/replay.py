"""Ask a bundle, or a server that has it, its golden questions again: proof that it answers as it was measured."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from rag.bundle import golden_cases
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.golden_cases import Case, cases_of
from rag.bundle.open_bundle import Bundle
from rag.bundle.strict_parse import is_encodable
from rag.core.errors import RefusalError, ServiceError, required
from rag.core.records.queries import Routed
from rag.core.records.sets import RecordSet
from rag.core.text.citations import without_markers
from rag.core.types import Message, Query, Recalled, Sought, Turn
from rag.pipeline.pipeline import Pipeline, Trace

TIMEOUT = 60.0
"""Seconds for one answer of a server."""
RETRIES = 5
"""How often a question is sent again after status 429."""
BEFORE = ("queries", "memory", "shape", "condense")
"""Roles whose models write what is searched for or shown."""


def replay(bundle: Bundle) -> Replay:
    """Ask an opened bundle its golden questions, and compare the results with the measured ones.

    No model behind an endpoint is asked: its recorded texts are used instead. A question without these is left out.
    """
    result = Replay()
    cases = [case for case in cases_of(bundle) if _is_recorded(case, bundle.config, result)]
    repeats = not golden_cases.asks([bundle.config[role] for role in golden_cases.ANSWERING])
    pipeline = _with_records(bundle.pipeline, cases)
    traces = pipeline.traces([case.query for case in cases]) if cases else []
    for case, trace in zip(cases, traces, strict=True):
        chunk_ids = tuple(hit.chunk.chunk_id for hit in pipeline.contexts(trace))
        result.compare(case, "passages", case.retrieved, chunk_ids)
        if case.prompt is None:
            continue
        prepared = pipeline.prepare(case.query, trace)
        result.compare(case, "prompt", case.prompt, golden_cases.prompt_of(prepared))
        if case.answer is not None and (repeats or not prepared.asks):
            _compare_answer(result, case, pipeline, trace)
    return result


def _is_recorded(case: Case, config: Mapping[str, Any], result: Replay) -> bool:
    """Whether a case holds all that models wrote before its answer; a memory is used only if there is a prompt."""
    lacks_search = case.sought is None and golden_cases.asks(config["queries"])
    lacks_memory = case.recalled is None and case.prompt is not None and golden_cases.asks(config["memory"])
    lacks_route = case.routed is None and golden_cases.asks(config["route"])
    never = golden_cases.asks([config[role] for role in ("policy", "shape", "condense")])
    if lacks := lacks_search or lacks_memory or lacks_route or never:
        result.leave_out("what a model said is not recorded")
    return not lacks


def _compare_answer(result: Replay, case: Case, pipeline: Pipeline, trace: Trace) -> None:
    try:
        answer = pipeline.answer_from(case.query, trace)
    except RefusalError as error:
        result.compare(case, "answer", case.answer, str(error))
        return
    result.compare(case, "contexts", case.contexts, tuple(hit.chunk.chunk_id for hit in answer.contexts))
    result.compare(case, "answer", case.answer, answer.reply.text)


@dataclass(frozen=True)
class _Recorded:
    """Returns what a model wrote when the trial was measured, and asks the component for the rest."""

    known: Mapping[Query, Any]
    other: Any

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        return self._of(queries, self.other.rewrite)

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return self._of(queries, self.other.recall)

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        return self._of(queries, self.other.route, records)

    def _of(self, queries: Sequence[Query], ask: Callable[..., list[Any]], *more: RecordSet) -> list[Any]:
        return [self.known.get(query) or ask([query], *more)[0] for query in queries]


def _with_records(pipeline: Pipeline, cases: Sequence[Case]) -> Pipeline:
    sought = {case.query: case.sought for case in cases if case.sought}
    recalled = {case.query: case.recalled for case in cases if case.recalled}
    reading = replace(pipeline.reading, memory=_Recorded(recalled, pipeline.reading.memory))
    routed = {replace(case.query, text=case.sought.question if case.sought else case.query.text): case.routed for case in cases}
    routes = {query: route for query, route in routed.items() if route}
    router = _Recorded(routes, pipeline.router) if routes and pipeline.router else pipeline.router
    return replace(pipeline, queries=_Recorded(sought, pipeline.queries), router=router, reading=reading)


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
                        _compare_served(case, client, model, result)
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


def _compare_served(case: Case, client: Any, model: str, result: Replay) -> None:
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
