"""What tracing tools export is read as results of a system, and becomes drafts of golden questions."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from mlflow.entities import Span as MlflowSpan
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rag.core.errors import DataError
from rag.core.systems import SystemPassage
from rag.core.types import Document
from rag.plugins.exchange_formats.imports import Report, import_set
from rag.plugins.exchange_formats.samples import Reading
from rag.plugins.systems.result_rows import read_results

FERRY, BUS = "The ferry to Holm leaves at seven.", "The bus to Holm leaves at eight."
FOUND = [{"page_content": FERRY, "metadata": {"source": "ferry.md"}}, {"page_content": BUS, "metadata": {"source": "bus.md"}}]
ASKED = "When does the ferry leave?"


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def sdk_lines() -> str:
    """OpenInference as the OpenTelemetry SDK writes its spans; the root is a request, which has no question."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("x")
    with tracer.start_as_current_span("POST /ask"), tracer.start_as_current_span("chain") as chain:
        chain.set_attributes({"input.value": json.dumps({"question": ASKED}), "output.value": '{"answer": "At seven."}'})
        with tracer.start_as_current_span("search") as search:
            search.set_attributes({"openinference.span.kind": "RETRIEVER", "input.value": "ferry time"})
            for place, each in enumerate(FOUND):
                lead = f"retrieval.documents.{place}.document"
                search.set_attributes(
                    {f"{lead}.content": each["page_content"], f"{lead}.metadata": json.dumps(each["metadata"])}
                )
        with tracer.start_as_current_span("model") as model:
            counts = {"llm.token_count.prompt": 8, "llm.token_count.completion": 4}
            model.set_attributes({"openinference.span.kind": "LLM", "input.value": "…", "output.value": "other", **counts})
    return "".join(f"{span.to_json(indent=None)}\n" for span in kept.get_finished_spans())


def otlp() -> Any:
    """`gen_ai` in OTLP JSON, as its file exporter writes it."""

    def span(name: str, parent: str, attributes: Mapping[str, Any]) -> Any:
        listed = [{"key": key, "value": value} for key, value in attributes.items()]
        times = {"startTimeUnixNano": "1795892513000000000", "endTimeUnixNano": "1795892513500000000"}
        return {"traceId": "t1", "spanId": name, "parentSpanId": parent, "name": name, "attributes": listed, **times}

    def said(role: str, text: str) -> Any:
        return {"stringValue": json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])}

    place = [{"kvlistValue": {"values": [{"key": "id", "value": {"stringValue": f"{name}.md"}}]}} for name in ("ferry", "bus")]
    found = {"gen_ai.operation.name": {"stringValue": "retrieval"}}
    found |= {"gen_ai.retrieval.documents": {"arrayValue": {"values": place}}}
    wrote = {"gen_ai.operation.name": {"stringValue": "chat"}, "gen_ai.output.messages": said("assistant", "At seven.")}
    wrote |= {"gen_ai.usage.input_tokens": {"intValue": "8"}, "gen_ai.usage.output_tokens": {"intValue": "4"}}
    spans = [span("search", "root", found), span("model", "root", wrote)]
    spans += [span("root", "", {"gen_ai.input.messages": said("user", ASKED)})]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def mlflow_trace(rated: bool | None = None) -> Any:
    """A trace as MLflow's `to_json` and its verb `traces get` write it."""
    kinds = {"rag": ("UNKNOWN", {"question": ASKED}, "At seven."), "search": ("RETRIEVER", {"query": "x"}, FOUND)}
    kinds["model"] = ("CHAT_MODEL", {"messages": []}, {"choices": [{"message": {"role": "assistant", "content": "other"}}]})
    spans = []
    for name, (kind, asked, said) in kinds.items():
        attributes = {
            "mlflow.spanType": kind,
            "mlflow.spanInputs": asked,
            "mlflow.spanOutputs": said,
            "mlflow.traceRequestId": "tr-1",
        }
        made = {
            "trace_id": "tr-1",
            "span_id": name.ljust(16, "0").encode().hex()[:16],
            "name": name,
            "status": {"code": "STATUS_CODE_OK"},
        }
        made |= {
            "parent_span_id": None if name == "rag" else "72616730303030",
            "start_time_unix_nano": 10**18,
            "end_time_unix_nano": 10**18,
        }
        spans.append(
            MlflowSpan.from_dict(made | {"attributes": {key: json.dumps(value) for key, value in attributes.items()}}).to_dict()
        )
    opinion = {"assessment_name": "thumbs", "source": {"source_type": "HUMAN"}, "feedback": {"value": rated}}
    return {"info": {"trace_id": "tr-1", "assessments": [opinion] if rated is not None else []}, "data": {"spans": spans}}


def langsmith_lines() -> str:
    """The runs of a LangChain chain."""

    class Search(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
            return [LangChainDocument(each["page_content"], metadata=each["metadata"]) for each in FOUND]

    kept, search = RunCollectorCallbackHandler(), Search()
    RunnableLambda(lambda x: {"answer": "At seven.", "n": len(search.invoke(x["question"]))}).invoke(
        {"question": ASKED}, config={"callbacks": [kept]}
    )
    runs = [kept.traced_runs[0], *kept.traced_runs[0].child_runs]
    return "".join(f"{run.model_dump_json(exclude={'child_runs', 'parent_run', 'client', 'ls_client'})}\n" for run in runs)


def langfuse() -> Any:
    """A trace as Langfuse's page downloads it; inputs and outputs of observations are JSON texts."""
    kinds = {
        "CHAIN": ({"args": [ASKED], "kwargs": {}}, "At seven."),
        "RETRIEVER": ("ferry time", FOUND),
        "GENERATION": ("…", {"content": "other"}),
    }
    seen = [
        {
            "id": kind,
            "traceId": "t1",
            "parentObservationId": None if kind == "CHAIN" else "CHAIN",
            "type": kind,
            "level": "DEFAULT",
        }
        | {"input": json.dumps(asked), "output": json.dumps(said), "usageDetails": {"input": 8, "output": 4}}
        for kind, (asked, said) in kinds.items()
    ]
    return {"trace": {"id": "t1", "scores": [{"name": "user-feedback", "value": 0}]}, "observations": seen}


MADE = {"sdk": sdk_lines, "otlp": otlp, "mlflow": mlflow_trace, "langsmith": langsmith_lines, "langfuse": langfuse}


@pytest.mark.parametrize("tool", MADE)
def test_a_trace_is_the_reply_to_its_question(tmp_path: Path, tool: str) -> None:
    found, is_run = read_results(written(tmp_path / "export", MADE[tool]()))
    reply = found[ASKED]
    texts = ("", "") if tool == "otlp" else (FERRY, BUS)
    assert reply.passages == (SystemPassage(texts[0], "ferry.md"), SystemPassage(texts[1], "bus.md"))
    assert reply.reply is not None
    assert (reply.reply.text, reply.failure, is_run) == ("At seven.", "", False)
    if tool in ("sdk", "otlp", "langfuse"):
        assert (reply.reply.prompt_tokens, reply.reply.completion_tokens) == (8, 4)
    if tool == "otlp":
        assert reply.seconds == 0.5


def test_a_trace_that_failed_or_searched_nothing_is_a_failure(tmp_path: Path) -> None:
    made = langfuse()["observations"]
    alone = [
        {**made[0], "traceId": "t2", "input": "Hello?"},
        {**made[0], "traceId": "t3", "level": "ERROR", "statusMessage": "gone", "input": "A?"},
    ]
    found, _ = read_results(written(tmp_path / "export", [*made, *alone]))
    assert [found[name].failure for name in (ASKED, "Hello?", "A?")] == [
        "",
        "its trace has no span that finds passages",
        "gone",
    ]


DEEP = '{"resourceSpans": ' + "[" * 100_000


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("<!DOCTYPE html><html><body>Log in</body></html>", "is a page in HTML"),
        (DEEP, "not valid JSON"),
        (
            [{"traceId": "t", "type": "SPAN", "body": 1}],
            "expected in a span of such an export: trace: traceId or trace_id; kind",
        ),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "attributes": ["x"]}]}]}]}, "spans of another form"),
        ({"resourceSpans": [{"instrumentationLibrarySpans": []}]}, "has no trace with a question"),
        ([{"run_type": "chain", "inputs": {"question": "a"}}], "has no trace with a question"),
    ],
)
def test_an_export_of_another_form_is_refused_with_what_was_expected(tmp_path: Path, content: Any, what: str) -> None:
    with pytest.raises(DataError) as caught:
        read_results(written(tmp_path / "export", content))
    assert what in str(caught.value)


def test_any_values_in_a_trace_are_read_or_refused(tmp_path: Path) -> None:
    odd = [
        None,
        float("nan"),
        -1,
        10**400,
        [],
        {},
        [[]],
        {"a": {}},
        "\0",
        '["',
        True,
        [{"role": 3}],
        {"messages": [None]},
        {"documents": [1, None]},
    ]
    draw = random.Random(0)
    for number in range(300):
        made = langfuse()
        for record in [made["trace"], *made["observations"]]:
            record |= {draw.choice([*record]): draw.choice(odd) for _ in range(2)}
        try:
            read_results(written(tmp_path / f"{number % 4}.json", made))
        except DataError:
            continue


def drafted(path: Path, reading: Reading) -> tuple[Report, list[dict[str, Any]]]:
    documents = {
        f"{name}.md": Document(f"{name}.md", f"# {name}\n\n{text} Dogs bark.")
        for name, text in (("ferry", FERRY), ("bus", BUS))
    }
    to = path.with_name(f"set{reading.limit}-{reading.seed}-{len(reading.known)}")
    report = import_set(path, to, documents, {}, "2026-11-28", reading)
    return report, [json.loads(line) for line in (to / "questions.jsonl").read_text("utf-8").splitlines()]


def test_traces_become_drafts_of_each_stratum(tmp_path: Path) -> None:
    lines = []
    for number in range(40):
        trace = mlflow_trace(None if number >= 6 else number % 2 == 0)
        topic = "ferry" if number % 8 else "bus"
        trace["info"]["trace_id"] = f"tr-{number}"
        search = trace["data"]["spans"][1]["attributes"]
        scored = [
            {**each, "metadata": {**each["metadata"], "score": score}}
            for each, score in zip(FOUND, (1.0, number / 100), strict=True)
        ]
        search["mlflow.spanOutputs"] = json.dumps(scored)
        trace["data"]["spans"][0]["attributes"]["mlflow.spanInputs"] = json.dumps(
            {"question": f"When does {topic} number {number} leave today?"}
        )
        lines += [json.dumps(trace)] * (1 if number else 2)
    lines[-1] = json.dumps(trace | {"info": {"trace_id": "again"}})
    path = written(tmp_path / "traces.jsonl", "\n".join(lines))
    report, rows = drafted(path, Reading("", 8, 1, ["When does ferry number 1 leave today?"]))
    bad = [row for row in rows if "thumbs_down" in row["tags"]]
    assert len(rows) == 8
    assert len(bad) == 2  # 1 is known, 3 and 5 are new
    assert all("answers" not in row for row in bad)
    assert sum("low_margin" in row["tags"] for row in rows) >= 2
    assert sum("new_topic" in row["tags"] for row in rows) >= 2
    assert all(row["tags"][0] == "trace" and row["tags"][-1] == "unconfirmed" for row in rows)
    assert {row["evidence"][0]["any"][0]["quote"] for row in rows} <= {FERRY, BUS}
    assert "near-duplicates" in report.notes[0]
    assert "over the limit" in report.notes[0]
    assert [row["id"] for row in drafted(path, Reading("", 8, 2))[1]] != [
        row["id"] for row in drafted(path, Reading("", 8, 1))[1]
    ]
