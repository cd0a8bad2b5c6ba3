"""Random and hostile requests: no failure of the server, and responses as described."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks
from support.servers import in_thread
from support.small_server import ALICE, QUESTION, TWO_KEYS, ask, bearer, small_app

CHECKS = (
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.ignored_auth,
)
"""Checks of every response: no failure of the server, nothing invalid accepted, and a response as described."""

DEEP = 100_000
HOSTILE: Mapping[str, bytes] = {
    "empty": b"",
    "null": b"null",
    "no JSON": b"\xff\xfe{",
    "cut off": b'{"question": "a',
    "twice": b'{"question": "a", "question": "b", "stream": false, "stream": true}',
    "deep": b'{"question": "a", "within": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep object": b'{"question": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "half a character": b'{"question": "\\ud800"}',
    "half a name": b'{"question": "a", "model": "\\udfff", "session": "\\ud800", "within": {"documents": ["\\ud800"]}}',
    "zero": b'{"question": "a\\u0000b", "comment": "\\u0000", "session": "\\u0000", "answer": "ans_\\u0000"}',
    "no number": b'{"question": "a", "k": NaN}',
    "endless": b'{"question": "a", "k": 1e999, "rating": -Infinity}',
    "huge": b'{"question": "a", "k": ' + b"9" * 5000 + b"}",
    "far": b'{"question": "a", "within": {"range": {"doc_id": "ferry.md", "start": 0, "end": 99999999999999999999999}}}',
    "nothing in it": b'{"question": "a", "within": {"documents": [], "sections": [], "metadata": {}, "whole": []}}',
    "everything whole": b'{"question": "a", "within": {"whole": ["ferry.md", "ferry.md", "bus.md"]}}',
    "signs that turn round": '{"question": "\u202e\u200b\ufeff\u0085"}'.encode(),
    "one word for ever": b'{"question": "' + b"a" * 8000 + b'"}',
    "messages": b'{"model": "default", "messages": [{"role": "user", "content": "\\ud800\\u0000"}]}',
    "half said before": b'{"model": "default", "messages": [{"role": "user", "content": "\\ud800"}, '
    b'{"role": "user", "content": [{"type": "text", "text": "a"}]}]}',
    "rated": b'{"answer": "ans_000000000000000000000000", "rating": 1.0000000001, "comment": ""}',
}


def fuzz(
    address: str, headers: Mapping[str, str], known: Mapping[str, str], examples: int, **how: Any
) -> Counter[tuple[Any, ...]]:
    """Send every operation of a server `examples` valid requests and as many invalid ones.

    Returns counts by operation, kind and status. Half of the requests use the values of `known` for parameters of these names.
    Raises the failed checks.
    """
    asked: Counter[tuple[Any, ...]] = Counter()
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json", headers=dict(headers))
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            if mode is GenerationMode.NEGATIVE and operation.path in ("/healthz", "/readyz"):
                # They have no invalid requests.
                continue

            @settings(
                max_examples=examples,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=PHASES,
                database=None,
                **how,
            )
            @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
            def run(case: schemathesis.Case, real: bool) -> None:
                if real and case.meta.generation.mode is GenerationMode.POSITIVE:
                    for part in (case.path_parameters, case.body):
                        if isinstance(part, dict):
                            part.update({name: value for name, value in known.items() if name in part})
                response = case.call(headers=dict(headers))
                asked[case.operation.label, case.meta.generation.mode.name, response.status_code] += 1
                case.validate_response(response, checks=CHECKS, headers=dict(headers))

            run()
    return asked


PHASES = (Phase.generate, Phase.shrink)


@pytest.fixture(scope="module")
def app(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """A server without a rate limit."""
    return small_app(bundle, tmp_path_factory.mktemp("fuzz") / "serve.db", keys=TWO_KEYS, rate=0)


@pytest.mark.parametrize("path", ["/ask", "/search", "/chat", "/feedback", "/v1/chat/completions"])
def test_hostile_bodies_are_refused_or_answered(app: FastAPI, path: str) -> None:
    for name, body in HOSTILE.items():
        for stream in (b"", b'{"stream": true, ' + body[1:]):
            if stream and not (body.startswith(b'{"') and path != "/feedback"):
                continue
            headers = bearer(ALICE) | {"Content-Type": "application/json"}
            found = ask(app, path, content=stream or body, headers=headers)
            assert found.status_code < 500, (name, found.text)
            assert "text/event-stream" in found.headers["content-type"] or found.json() is not None
            assert "internal-server-error" not in found.text, name


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "application/x-www-form-urlencoded", ""]
)
def test_a_body_of_another_type_is_not_parsed_as_json(app: FastAPI, kind: str) -> None:
    body = b'{"question": "When does the ferry leave?"}'
    assert ask(app, content=body, headers=bearer(ALICE) | {"Content-Type": kind}).status_code == 422


def test_random_requests_are_answered_as_described(app: FastAPI) -> None:
    answer = ask(app, "/chat", json={"question": QUESTION}, headers=bearer(ALICE)).json()
    known = {"session": answer["session"], "answer": answer["id"], "doc_id": "ferry.md", "model": "default"}
    with in_thread(app) as (address, _):
        asked = fuzz(address, bearer(ALICE), known, 5, derandomize=True)
    assert sum(asked.values()) > 100
    reached = {label for (label, _, status) in asked if status < 300}
    assert reached >= {"POST /search", "POST /ask", "POST /chat", "GET /documents", "GET /documents/{doc_id}", "GET /metrics"}
    assert not [status for (_, _, status) in asked if status >= 500]
