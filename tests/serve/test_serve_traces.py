"""Requests as spans of OpenTelemetry, sent to a collector, and as traces of MLflow."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.testclient import TestClient
from support.small_server import ALICE, QUESTION, TWO_KEYS, bearer, small_app, small_bundle
from support.span_collector import collecting

from rag.core.errors import ConfigError, MissingExtraError
from rag.serve import mlflow_traces, otel_spans
from rag.serve.otel_spans import steps_in_time
from rag.serve.request_log import RequestRecord
from rag.serve.settings import Settings

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle."""
    return small_bundle(tmp_path_factory.mktemp("traces"))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "serve.db"


def client(bundle: Path, database: Path, **settings: Any) -> TestClient:
    """A client of an app that starts and ends with it, as a server's process does."""
    return TestClient(small_app(bundle, database, **settings), base_url="http://127.0.0.1")


def attributes(span: Span) -> dict[str, Any]:
    """Values by name."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@pytest.fixture
def sent(bundle: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Span]:
    """The spans of one question."""
    return spans_of(bundle, database, monkeypatch)


def spans_of(bundle: Path, database: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> dict[str, Span]:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with client(bundle, database, keys=TWO_KEYS, **settings) as asking:
            headers = bearer(ALICE) | {"traceparent": PARENT}
            assert asking.post("/chat", json={"question": QUESTION}, headers=headers).status_code == 200
            asking.get("/healthz")
        assert set(collector.paths) == {"/v1/traces"}
        return collector.spans


def test_a_question_becomes_spans_below_those_of_who_asked(sent: dict[str, Span]) -> None:
    root = sent["POST /chat"]
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    assert root.kind == Span.SPAN_KIND_SERVER
    (retrieval,) = (span for name, span in sent.items() if name.startswith("retrieval "))
    (chat,) = (span for name, span in sent.items() if name.startswith("chat "))
    assert retrieval.parent_span_id == chat.parent_span_id == root.span_id
    assert {name for name, span in sent.items() if span.parent_span_id == retrieval.span_id} >= {"embed", "search", "fuse"}
    assert {name for name, span in sent.items() if span.parent_span_id == chat.span_id} == {"prompt", "generate"}
    assert {span.trace_id for span in sent.values()} == {root.trace_id}
    assert not any("healthz" in name for name in sent)


def test_spans_lie_within_one_another_in_time(sent: dict[str, Span]) -> None:
    by_id = {span.span_id: span for span in sent.values()}
    for span in sent.values():
        above = by_id.get(span.parent_span_id, span)
        assert above.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= above.end_time_unix_nano
    assert sent["embed"].end_time_unix_nano <= sent["search"].start_time_unix_nano


def test_they_have_the_names_that_opentelemetry_gives(sent: dict[str, Span]) -> None:
    root = attributes(sent["POST /chat"])
    assert root["http.request.method"] == "POST"
    assert root["http.route"] == "/chat"
    assert root["http.response.status_code"] == 200
    assert root["user.name"] == "alice"
    (retrieval,) = (attributes(span) for name, span in sent.items() if name.startswith("retrieval "))
    assert retrieval["gen_ai.operation.name"] == "retrieval"
    assert retrieval["gen_ai.data_source.id"] == root["assay.bundle"]
    (name, span) = next((name, span) for name, span in sent.items() if name.startswith("chat "))
    chat = attributes(span)
    assert chat["gen_ai.operation.name"] == "chat"
    assert name == f"chat {chat['gen_ai.request.model']}"
    assert chat["gen_ai.response.id"].startswith("ans_")
    assert chat["gen_ai.conversation.id"]
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (0, 0)


def test_no_text_and_no_key_leaves_unless_asked_for(sent: dict[str, Span]) -> None:
    everything = " ".join(str(span) for span in sent.values()).lower()
    assert "ferry" not in everything
    assert ALICE.lower() not in everything
    assert "gen_ai.input.messages" not in everything


def test_texts_leave_where_that_is_asked_for(bundle: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = spans_of(bundle, database, monkeypatch, log_texts=True)
    (chat,) = (attributes(span) for name, span in sent.items() if name.startswith("chat "))
    (asked,) = json.loads(chat["gen_ai.input.messages"])
    assert asked == {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
    assert json.loads(chat["gen_ai.output.messages"])[0]["finish_reason"] == "stop"
    (retrieval,) = (attributes(span) for name, span in sent.items() if name.startswith("retrieval "))
    assert retrieval["gen_ai.retrieval.query.text"] == QUESTION
    assert {one["id"].partition(":")[0] for one in json.loads(retrieval["gen_ai.retrieval.documents"])} >= {"ferry.md"}


def test_a_failure_is_marked(bundle: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        app = small_app(bundle, database, timeout=0.01)
        app.state.handler.conversations.create = lambda owner: threading.Event().wait(0.5)
        with TestClient(app, base_url="http://127.0.0.1") as asking:
            assert asking.post("/chat", json={"question": QUESTION}).status_code == 504
        (root,) = collector.spans.values()
    assert attributes(root)["error.type"] == "504"
    assert root.status.code == root.status.STATUS_CODE_ERROR


@pytest.mark.parametrize("status", [400, 503])
def test_a_collector_that_refuses_is_nobodys_trouble(
    status: int, bundle: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel_spans, "PATIENCE", 200)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with collecting(status) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with client(bundle, database) as asking:
            assert asking.post("/ask", json={"question": QUESTION}).status_code == 200
        assert collector.bodies


def test_no_spans_are_made_where_nobody_collects_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in otel_spans.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert not otel_spans.wanted()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert otel_spans.wanted()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not otel_spans.wanted()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError) as caught:
        otel_spans.Spans(log_texts=False)
    assert caught.value.remedy == "pip install 'opentelemetry-exporter-otlp-proto-http>=1.45' 'opentelemetry-sdk>=1.45'"


def test_steps_follow_one_another_and_end_with_the_request() -> None:
    seen = RequestRecord(
        "r", "POST", 1_000, {}, ended=10_000, response={"timings": {"search": 2e-6, "generate": 3e-6, "total": 1.0}}
    )
    assert steps_in_time(seen) == [("search", 5_000, 7_000), ("generate", 7_000, 10_000)]
    seen.response = {"timings": {"search": 20e-6, "generate": 3e-6}}
    assert steps_in_time(seen) == [("search", 1_000, 10_000), ("generate", 10_000, 10_000)]


@pytest.fixture
def mlflow_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An MLflow of this test's own."""
    import mlflow

    before = mlflow.get_tracking_uri()
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "serving")
    # A slow machine takes its time to make the tables.
    monkeypatch.setattr(mlflow_traces, "PATIENCE", 60)
    mlflow.set_tracking_uri(uri)
    # It looks once in a process whether anything is traced, and others may have had it look.
    mlflow.tracing.reset()
    yield uri
    mlflow.set_tracking_uri(before)


def traces(uri: str) -> list[Any]:
    """What MLflow has."""
    from mlflow import MlflowClient

    mlflow = MlflowClient(uri)
    experiment = mlflow.get_experiment_by_name("serving")
    return list(mlflow.search_traces(locations=[experiment.experiment_id])) if experiment else []


@pytest.mark.parametrize("texts", [False, True])
def test_mlflow_has_a_trace_of_every_answer_that_is_sampled(
    texts: bool, bundle: Path, database: Path, mlflow_here: str
) -> None:
    with client(bundle, database, keys=TWO_KEYS, trace_share=1.0, log_texts=texts) as asking:
        told = asking.post("/ask", json={"question": QUESTION}, headers=bearer(ALICE)).json()
        asking.post("/ask", json={}, headers=bearer(ALICE))
    (trace,) = traces(mlflow_here)
    assert trace.info.tags["assay.bundle"] == told["bundle"]
    root = trace.data.spans[0]
    assert root.name == "POST /ask"
    assert {span.name for span in trace.data.spans} >= {"search", "generate"}
    assert {span.span_type for span in trace.data.spans} >= {"RETRIEVER", "CHAT_MODEL", "EMBEDDING"}
    assert root.inputs == ({"question": QUESTION} if texts else {"characters": len(QUESTION)})
    assert root.outputs["passages"][0]["chunk"] == told["contexts"][0]["chunk"]
    assert (str(trace.to_dict()).lower().count("leaves at") > 0) is texts
    assert ALICE not in str(trace.to_dict())


def test_a_share_of_the_requests_is_sampled(mlflow_here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sending, sent = mlflow_traces.SampledTraces(0.25, log_texts=False), []
    monkeypatch.setattr(mlflow_traces, "_trace", lambda seen, response, texts: seen.request)
    monkeypatch.setattr(sending._log, "log", sent.append)
    for number in range(256):
        sending(RequestRecord(f"{number:02x}{'0' * 22}", "POST", 0, {}, response={"question": ""}))
        sending(RequestRecord(f"{number:02x}{'0' * 22}", "POST", 0, {}))
    sending.close()
    assert sent == [f"{number:02x}{'0' * 22}" for number in range(64)]


def test_an_mlflow_that_fails_or_is_slow_is_nobodys_trouble(mlflow_here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sending, go, began = mlflow_traces.SampledTraces(1.0, log_texts=False), threading.Event(), threading.Event()

    def stuck(trace: Any) -> None:
        began.set()
        go.wait()
        raise OSError("nobody there")

    monkeypatch.setattr(mlflow_traces, "_trace", lambda seen, response, texts: seen.request)
    monkeypatch.setattr(sending._log, "log", stuck)
    seen = RequestRecord("0" * 24, "POST", 0, {}, response={})
    sending(seen)
    began.wait()
    for _ in range(mlflow_traces.WAITING + 10):
        sending(seen)
    go.set()
    sending.close()
    assert not sending._thread.is_alive()


def test_traces_need_to_know_which_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(ConfigError, match=r"RAG_TRACE_SHARE.*MLFLOW_TRACKING_URI is not set"):
        mlflow_traces.SampledTraces(Settings(trace_share=0.1).trace_share, log_texts=False)
