"""Requests as OpenTelemetry spans, under the names that OpenTelemetry gives to searching and answering with models.

They are sent where the variables of OpenTelemetry say, OTEL_EXPORTER_OTLP_ENDPOINT and its kin, and only where one of them is
set. Spans are made when a request has ended: its steps follow one another, and each begins where the one before ended.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag import __version__
from rag.core.errors import MissingExtraError
from rag.serve.request_log import QUIET, Seen

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SEARCHING = ("queue", "rewrite", "embed", "search", "fuse", "rerank", "select")
"""Steps that find passages, waiting for others to be searched with included; the rest answers from them."""

SECOND = 1_000_000_000
PATIENCE = 5_000
"""Milliseconds that a server which ends waits for its last spans to be sent."""


def wanted() -> bool:
    """Whether the environment asks for spans."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    return not off and any(os.environ.get(name) for name in VARIABLES)


class Spans:
    """Makes spans of requests; MissingExtraError without the packages. Texts stand in them only with `log_texts`."""

    def __init__(self, log_texts: bool, exporter: "SpanExporter | None" = None) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise MissingExtraError(VARIABLES[1], "opentelemetry-exporter-otlp-proto-http", "otel") from error
        name = os.environ.get("OTEL_SERVICE_NAME", "assay")
        resource = Resource.create({"service.name": name, "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("rag.serve", __version__)
        self._log_texts = log_texts

    def __call__(self, seen: Seen) -> None:
        """Make the spans of a request: the server's, below it those of searching and answering, below these their steps."""
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if seen.route in QUIET:
            return
        above = TraceContextTextMapPropagator().extract(seen.parents)
        name = f"{seen.method} {seen.route}" if seen.route != "-" else seen.method
        root = self._tracer.start_span(name, above, SpanKind.SERVER, _request(seen), start_time=seen.began)
        if seen.told is not None:
            self._steps(root, seen, seen.told)
        if seen.failed or seen.status >= 500:
            root.set_attribute("error.type", seen.failed or str(seen.status))
            root.set_status(Status(StatusCode.ERROR))
        root.end(seen.ended)

    def _steps(self, root: "Span", seen: Seen, told: Mapping[str, Any]) -> None:
        for name, attributes, steps in _parts(seen, told, self._log_texts):
            whole = self._span(root, name, attributes, steps[0][1], steps[-1][2])
            for step, began, ended in steps:
                self._span(whole, step, {}, began, ended)

    def _span(self, above: "Span", name: str, attributes: Mapping[str, Any], began: int, ended: int) -> "Span":
        from opentelemetry.trace import set_span_in_context

        span = self._tracer.start_span(name, set_span_in_context(above), attributes=dict(attributes), start_time=began)
        span.end(ended)
        return span

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        self._provider.force_flush(PATIENCE)
        self._provider.shutdown()


Step = tuple[str, int, int]
"""A step, and its beginning and end in nanoseconds since 1970."""


def laid_out(seen: Seen) -> list[Step]:
    """The steps of a request one after the other, so that the last of them ends with it."""
    at = max(seen.began, seen.ended - round(sum(seen.steps.values()) * SECOND))
    steps = []
    for name, seconds in seen.steps.items():
        following = min(seen.ended, at + round(seconds * SECOND))
        steps.append((name, at, following))
        at = following
    return steps


def _parts(seen: Seen, told: Mapping[str, Any], texts: bool) -> Iterator[tuple[str, dict[str, Any], list[Step]]]:
    steps = laid_out(seen)
    if found := [step for step in steps if step[0] in SEARCHING]:
        yield f"retrieval {told['model']}", _retrieval(told, texts), found
    if written := [step for step in steps if step[0] not in SEARCHING]:
        yield f"chat {told['model']}", _answer(seen, told, texts), written


def _request(seen: Seen) -> dict[str, Any]:
    known = {"http.request.method": seen.method, "http.response.status_code": seen.status, "assay.request": seen.request}
    known |= {"http.route": seen.route} if seen.route != "-" else {}
    known |= {"user.name": seen.owner} if seen.owner else {}
    return known | ({"assay.bundle": seen.told["bundle"]} if seen.told else {})


def _retrieval(told: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    passages = told.get("passages", told.get("contexts", ()))
    known = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": told["bundle"]}
    known |= {"gen_ai.request.top_k": len(passages)}
    if not texts:
        return known
    documents = [{"id": one["chunk"], "score": one["score"]} for one in passages]
    return known | {"gen_ai.retrieval.query.text": told["question"], "gen_ai.retrieval.documents": json.dumps(documents)}


def _answer(seen: Seen, told: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    known: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "assay"}
    known |= {"gen_ai.request.model": told["model"], "gen_ai.response.model": told["model"], "gen_ai.response.id": told["id"]}
    known |= {"gen_ai.output.type": "text", "gen_ai.usage.input_tokens": told["tokens"]["prompt"]}
    known |= {"gen_ai.usage.output_tokens": told["tokens"]["completion"], "assay.abstained": bool(told["abstained"])}
    known |= {"gen_ai.conversation.id": told["session"]} if told.get("session") else {}
    known |= {"assay.cost_usd": told["cost_usd"]} if told["cost_usd"] is not None else {}
    known |= {"gen_ai.response.time_to_first_chunk": seen.first} if seen.first is not None else {}
    if not texts:
        return known
    asked = [{"role": "user", "parts": [{"type": "text", "content": told["question"]}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": told["answer"]}], "finish_reason": "stop"}]
    return known | {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(said)}
