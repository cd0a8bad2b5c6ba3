"""The fields of a span in the exports of tracing tools, as paths: one table for each format.

OpenTelemetry, OTLP 1.10 as JSON, and lines of the SDK: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding;
with the attributes of OpenInference (Arize-ai/openinference, spec/semantic_conventions.md; the exports of Phoenix have them,
too), of `gen_ai` 0.1.0 (open-telemetry/semantic-conventions-genai, docs/gen-ai), and of MLflow 3.17 (`Trace.to_json`).
Langfuse 4: https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields, the observations API v2, and
the JSON of a trace. LangSmith: https://docs.langchain.com/langsmith/run-data-format.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

HOLDS = ("traces", "runs", "resourceSpans", "scopeSpans", "data", "trace", "spans", "observations", "child_runs")
"""Keys under which an object has spans, perhaps one within another."""


@dataclass(frozen=True, slots=True)
class SpanPaths:
    """Paths of a format, the most specific first; `columns` are those of `Format`.

    `rated` are scores and feedback, `began` and `ended` times in ISO 8601 or in ns, `seconds` a duration if these are missing.
    """

    columns: tuple[str, ...]
    trace: str
    parent: str
    kind: str
    asked: str
    said: str
    passages: str
    rated: str
    status: str
    failure: str
    began: str
    ended: str
    seconds: str
    prompt_tokens: str
    completion_tokens: str
    cost: str
    question_id: str = "client_request_id"

    def expected(self) -> str:
        """What an error names: the paths without which a span is nothing."""
        needed = (each.name for each in fields(self) if each.name in ("trace", "kind", "asked", "passages"))
        return "; ".join(f"{name}: {' or '.join(getattr(self, name).split())}" for name in needed)


FORMATS_OF_SPANS: Mapping[str, SpanPaths] = {
    "opentelemetry": SpanPaths(
        columns=(
            *("resourceSpans", "context+parent_id", "context+span_kind", "context.trace_id", "info+data"),
            *("spans+trace_id", "spans+traceId"),
        ),
        trace="traceId context.trace_id trace_id info.trace_id",
        parent="parentSpanId parent_id parent_span_id",
        kind="attributes.openinference.span.kind attributes.gen_ai.operation.name attributes.mlflow.spanType span_kind",
        asked="attributes.input.value attributes.gen_ai.retrieval.query.text attributes.gen_ai.input.messages"
        " attributes.llm.input_messages attributes.mlflow.spanInputs",
        said="attributes.output.value attributes.gen_ai.output.messages attributes.llm.output_messages"
        " attributes.mlflow.spanOutputs",
        passages="attributes.reranker.output_documents attributes.retrieval.documents attributes.gen_ai.retrieval.documents",
        rated="info.assessments assessments annotations",
        status="status_code status.status_code status.code",
        failure="status_message status.message status.description",
        began="startTimeUnixNano start_time_unix_nano start_time",
        ended="endTimeUnixNano end_time_unix_nano end_time",
        seconds="",
        prompt_tokens="attributes.llm.token_count.prompt attributes.gen_ai.usage.input_tokens",
        completion_tokens="attributes.llm.token_count.completion attributes.gen_ai.usage.output_tokens",
        cost="attributes.llm.cost.total",
        question_id="info.client_request_id client_request_id",
    ),
    "langfuse_traces": SpanPaths(
        columns=(
            "observations",
            "parentObservationId",
            "parent_observation_id",
            "traceId+type",
            "trace_id+provided_model_name",
        ),
        trace="traceId trace_id",
        parent="parentObservationId parent_observation_id",
        kind="type",
        asked="input",
        said="output",
        passages="output.documents",
        rated="scores",
        status="level",
        failure="statusMessage status_message",
        began="startTime start_time",
        ended="endTime end_time",
        seconds="latency",
        prompt_tokens="usageDetails.input usage_details.input usage.input promptTokens",
        completion_tokens="usageDetails.output usage_details.output usage.output completionTokens",
        cost="totalCost total_cost",
    ),
    "langsmith_runs": SpanPaths(
        columns=("run_type",),
        trace="trace_id",
        parent="parent_run_id",
        kind="run_type",
        asked="inputs",
        said="outputs",
        passages="outputs.documents",
        rated="feedback_stats",
        status="status",
        failure="error",
        began="start_time",
        ended="end_time",
        seconds="",
        prompt_tokens="prompt_tokens extra.metadata.usage_metadata.input_tokens",
        completion_tokens="completion_tokens extra.metadata.usage_metadata.output_tokens",
        cost="total_cost",
    ),
}
