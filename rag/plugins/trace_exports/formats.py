"""Formats of traces: where the fields of a span are, one column for each tool; names of `attributes` are written without it.

OpenTelemetry, as OTLP JSON and as lines of its SDK (https://opentelemetry.io/docs/specs/otlp, JSON Protobuf Encoding), with the
attributes of OpenInference and of Phoenix's exports (Arize-ai/openinference, spec/semantic_conventions.md), of `gen_ai` 0.1
(open-telemetry/semantic-conventions-genai, docs/gen-ai/retrieval.md), and of MLflow 3 (`Trace.to_json`).
Langfuse: https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields, its observations API v2, and a
trace as JSON. LangSmith: https://docs.langchain.com/langsmith/run-data-format.
"""

from functools import partial

from rag.authoring.exchange.format_table import Format
from rag.plugins.trace_exports.spans import by_trace

TABLE = """
field    | opentelemetry | langfuse_traces | langsmith_runs
trace    | traceId context.trace_id info.trace_id trace_id | traceId trace_id | trace_id
parent   | parentSpanId parent_id parent_span_id | parentObservationId parent_observation_id | parent_run_id
kind     | openinference.span.kind gen_ai.operation.name mlflow.spanType span_kind | type | run_type
asked    | input.value gen_ai.retrieval.query.text gen_ai.input.messages llm.input_messages mlflow.spanInputs | input | inputs
said     | output.value gen_ai.output.messages llm.output_messages mlflow.spanOutputs | output | outputs
passages | reranker.output_documents retrieval.documents gen_ai.retrieval.documents | output.documents | outputs.documents
rated    | info.assessments assessments annotations | scores | feedback_stats
status   | status_code status.status_code status.code | level | status
failure  | status_message status.message status.description | statusMessage status_message | error
began    | startTimeUnixNano start_time_unix_nano start_time | startTime start_time | start_time
ended    | endTimeUnixNano end_time_unix_nano end_time | endTime end_time | end_time
read     | llm.token_count.prompt gen_ai.usage.input_tokens | usageDetails.input usage_details.input | prompt_tokens
written  | llm.token_count.completion gen_ai.usage.output_tokens | usageDetails.output usage_details.output | completion_tokens
cost     | llm.cost.total | totalCost total_cost | total_cost
"""
COLUMNS = {
    "opentelemetry": "resourceSpans context+parent_id context+span_kind context.trace_id info+data spans+trace_id",
    "langfuse_traces": "trace+observations scores+observations parentObservationId parent_observation_id traceId+type",
    "langsmith_runs": "run_type",
}
"""The columns by which a format is known."""
(_, *NAMES), *LINES = ([cell.split() for cell in line.split("|")] for line in TABLE.strip().split("\n"))
FORMATS = {
    name: Format(
        holds=frozenset(),
        columns=tuple(COLUMNS[name].split()),
        rows=partial(by_trace, {field: paths[place] for (field,), *paths in LINES}),
    )
    for place, (name,) in enumerate(NAMES)
}
