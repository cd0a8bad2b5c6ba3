"""Requests as OpenTelemetry spans, with the names of OpenTelemetry's conventions for generative AI.

They are sent to the endpoint that OpenTelemetry's variables name, OTEL_EXPORTER_OTLP_ENDPOINT and others, and only if one of
them is set; OTEL_TRACES_SAMPLER chooses a share of them. MLflow takes them too, under /v1/traces. Spans are made when a request
has ended: its steps follow one another, each from the end of the one before.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag import __version__
from rag.core.errors import MissingExtraError
from rag.serve.request_log import QUIET, EndedRequest

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SEARCHING = ("queue", "rewrite", "route", "embed", "search", "fuse", "rerank", "select", "look")
"""Steps of the search, with waiting in the queue; all other steps answer."""

KINDS = {"embed": "EMBEDDING", "rerank": "RERANKER", "generate": "LLM", "look": "AGENT"}
"""Kinds of steps in OpenInference's words; the other steps of the search are retrievers, all others chains."""
SECOND = 1_000_000_000
PATIENCE = 5_000
"""Milliseconds that a server which ends waits until its last spans are sent."""


def wanted() -> bool:
    """Whether the environment asks for spans."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    return not off and any(os.environ.get(name) for name in VARIABLES)


class Spans:
    """Sends spans of requests, with texts only if `log_texts`; MissingExtraError if a package is missing."""

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

    def __call__(self, record: EndedRequest) -> None:
        """Send the span of a request, below it the spans of searching and answering, below these their steps."""
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if record.route in QUIET:
            return
        above = TraceContextTextMapPropagator().extract(record.parents)
        name = f"{record.method} {record.route}" if record.route != "-" else record.method
        root = self._tracer.start_span(name, above, SpanKind.SERVER, _request_attributes(record), start_time=record.began)
        if record.response is not None:
            for name, attributes, steps in _parts(record, record.shown, self._log_texts):
                part = self._span(root, name, attributes, steps[0][1], steps[-1][2])
                for step, began, ended in steps:
                    kind = KINDS.get(step, "RETRIEVER" if step in SEARCHING else "CHAIN")
                    self._span(part, step, {"openinference.span.kind": kind}, began, ended)
        if record.failed or record.status >= 500:
            root.set_attribute("error.type", record.failed or str(record.status))
            root.set_status(Status(StatusCode.ERROR))
        root.end(record.ended)

    def _span(self, above: "Span", name: str, attributes: Mapping[str, Any], began: int, ended: int) -> "Span":
        from opentelemetry.trace import set_span_in_context

        span = self._tracer.start_span(name, set_span_in_context(above), attributes=dict(attributes), start_time=began)
        span.end(ended)
        return span

    def close(self) -> None:
        """Send the spans that are left, within PATIENCE."""
        self._provider.force_flush(PATIENCE)
        self._provider.shutdown()


Step = tuple[str, int, int]
"""The name of a step, its beginning and end in nanoseconds since 1970."""


def steps_in_time(record: EndedRequest) -> list[Step]:
    """The steps of a request one after the other, so that the last one ends with it."""
    at = max(record.began, record.ended - round(sum(record.steps.values()) * SECOND))
    steps = []
    for name, seconds in record.steps.items():
        following = min(record.ended, at + round(seconds * SECOND))
        steps.append((name, at, following))
        at = following
    return steps


def _parts(record: EndedRequest, response: Mapping[str, Any], texts: bool) -> Iterator[tuple[str, dict[str, Any], list[Step]]]:
    steps = steps_in_time(record)
    if searching := [step for step in steps if step[0] in SEARCHING]:
        yield f"retrieval {response['model']}", _retrieval_attributes(response, texts), searching
    if answering := [step for step in steps if step[0] not in SEARCHING]:
        yield f"chat {response['model']}", _chat_attributes(record, response, texts), answering


def _request_attributes(record: EndedRequest) -> dict[str, Any]:
    known = {"http.request.method": record.method, "http.response.status_code": record.status, "assay.request": record.request}
    known |= {"http.route": record.route} if record.route != "-" else {}
    known |= {"user.id": record.owner, "user.name": record.owner} if record.owner else {}
    known |= {"assay.bundle": record.response["bundle"]} if record.response else {}
    if look := (record.response or {}).get("look"):
        known |= {"assay.route": look["route"], "assay.steps": len(look["steps"])}
    return known


def _retrieval_attributes(response: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    passages = response.get("passages", response.get("contexts", ()))
    known = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": response["bundle"]}
    known |= {"gen_ai.request.top_k": len(passages)}
    if not texts:
        return known
    documents = [{"id": passage["chunk"], "score": passage["score"]} for passage in passages]
    return known | {"gen_ai.retrieval.query.text": response["question"], "gen_ai.retrieval.documents": json.dumps(documents)}


def _chat_attributes(record: EndedRequest, response: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    known: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "assay"}
    known |= {
        "gen_ai.request.model": response["model"],
        "gen_ai.response.model": response["model"],
        "gen_ai.response.id": response["id"],
    }
    known |= {"gen_ai.output.type": "text", "gen_ai.usage.input_tokens": response["tokens"]["prompt"]}
    known |= {"gen_ai.usage.output_tokens": response["tokens"]["completion"], "assay.abstained": bool(response["abstained"])}
    known |= {"gen_ai.conversation.id": response["session"]} if response.get("session") else {}
    known |= {"assay.cost_usd": response["cost_usd"]} if response["cost_usd"] is not None else {}
    known |= {"gen_ai.response.time_to_first_chunk": record.first} if record.first is not None else {}
    if not texts:
        return known
    question = [{"role": "user", "parts": [{"type": "text", "content": response["question"]}]}]
    reply = [{"role": "assistant", "parts": [{"type": "text", "content": response["answer"]}], "finish_reason": "stop"}]
    return known | {"gen_ai.input.messages": json.dumps(question), "gen_ai.output.messages": json.dumps(reply)}
