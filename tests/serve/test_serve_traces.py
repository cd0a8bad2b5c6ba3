"""Requests as spans of OpenTelemetry, sent to a collector, and as traces of MLflow."""

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.testclient import TestClient
from support.small_server import ALICE, QUESTION, TWO_KEYS, bearer, small_app
from support.span_collector import collecting

from rag.core.errors import ConfigError, MissingExtraError
from rag.serve import mlflow_traces, otel_spans
from rag.serve.otel_spans import steps_in_time
from rag.serve.request_log import RequestRecord
from rag.serve.settings import Settings

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
Spans = dict[str, Span]


def client(bundle: Path, folder: Path, **settings: Any) -> TestClient:
    """A client of an app that starts and ends with it, as in a server process."""
    return TestClient(small_app(bundle, folder / "serve.db", **settings), base_url="http://127.0.0.1")


def attributes(span: Span) -> dict[str, Any]:
    """The attributes of a span by name."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def span_named(spans: Spans, prefix: str) -> Span:
    """The only span whose name begins so."""
    (span,) = (span for name, span in spans.items() if name.startswith(prefix))
    return span


def spans_of(bundle: Path, folder: Path, **settings: Any) -> Spans:
    """The spans of one question."""
    with collecting() as collector, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with client(bundle, folder, keys=TWO_KEYS, **settings) as asking:
            headers = bearer(ALICE) | {"traceparent": PARENT}
            assert asking.post("/chat", json={"question": QUESTION}, headers=headers).status_code == 200
            asking.get("/healthz")
        assert set(collector.paths) == {"/v1/traces"}
        return collector.spans


@pytest.fixture(scope="module")
def sent(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Spans:
    """The spans of one question, without texts."""
    return spans_of(bundle, tmp_path_factory.mktemp("sent"))


def test_a_question_becomes_spans_below_those_of_the_client(sent: Spans) -> None:
    root, retrieval, chat = sent["POST /chat"], span_named(sent, "retrieval "), span_named(sent, "chat ")
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    assert root.kind == Span.SPAN_KIND_SERVER
    assert retrieval.parent_span_id == chat.parent_span_id == root.span_id
    assert {name for name, span in sent.items() if span.parent_span_id == retrieval.span_id} >= {"embed", "search", "fuse"}
    assert {name for name, span in sent.items() if span.parent_span_id == chat.span_id} == {"prompt", "generate"}
    assert {span.trace_id for span in sent.values()} == {root.trace_id}
    assert not any("healthz" in name for name in sent)


def test_spans_are_nested_in_time(sent: Spans) -> None:
    by_id = {span.span_id: span for span in sent.values()}
    for span in sent.values():
        above = by_id.get(span.parent_span_id, span)
        assert above.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= above.end_time_unix_nano
    assert sent["embed"].end_time_unix_nano <= sent["search"].start_time_unix_nano


def test_attributes_have_the_names_of_opentelemetry(sent: Spans) -> None:
    root, retrieval = attributes(sent["POST /chat"]), attributes(span_named(sent, "retrieval "))
    expected = {"http.request.method": "POST", "http.route": "/chat", "http.response.status_code": 200, "user.name": "alice"}
    assert expected.items() <= root.items()
    assert retrieval["gen_ai.operation.name"] == "retrieval"
    assert retrieval["gen_ai.data_source.id"] == root["assay.bundle"]
    chat = attributes(span_named(sent, "chat "))
    assert chat["gen_ai.operation.name"] == "chat"
    assert span_named(sent, "chat ") == sent[f"chat {chat['gen_ai.request.model']}"]
    assert chat["gen_ai.response.id"].startswith("ans_")
    assert chat["gen_ai.conversation.id"]
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (0, 0)


def test_spans_hold_no_text_and_no_key(sent: Spans) -> None:
    everything = " ".join(str(span) for span in sent.values()).lower()
    assert not any(word in everything for word in ("ferry", ALICE.lower(), "gen_ai.input.messages"))


def test_spans_hold_texts_with_log_texts(bundle: Path, tmp_path: Path) -> None:
    sent = spans_of(bundle, tmp_path, log_texts=True)
    chat, retrieval = attributes(span_named(sent, "chat ")), attributes(span_named(sent, "retrieval "))
    (asked,) = json.loads(chat["gen_ai.input.messages"])
    assert asked == {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
    assert json.loads(chat["gen_ai.output.messages"])[0]["finish_reason"] == "stop"
    assert retrieval["gen_ai.retrieval.query.text"] == QUESTION
    assert {each["id"].partition(":")[0] for each in json.loads(retrieval["gen_ai.retrieval.documents"])} >= {"ferry.md"}


def test_a_failure_is_marked(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        app = small_app(bundle, tmp_path / "serve.db", timeout=0.01)
        app.state.handler.conversations.create = lambda owner: threading.Event().wait(0.5)
        with TestClient(app, base_url="http://127.0.0.1") as asking:
            assert asking.post("/chat", json={"question": QUESTION}).status_code == 504
        (root,) = collector.spans.values()
    assert attributes(root)["error.type"] == "504"
    assert root.status.code == root.status.STATUS_CODE_ERROR


@pytest.mark.parametrize("status", [400, 503])
def test_a_collector_that_refuses_breaks_nothing(
    status: int, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel_spans, "PATIENCE", 200)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with collecting(status) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with client(bundle, tmp_path) as asking:
            assert asking.post("/ask", json={"question": QUESTION}).status_code == 200
        assert collector.bodies


def test_spans_are_made_only_for_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in otel_spans.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert not otel_spans.wanted()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert otel_spans.wanted()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not otel_spans.wanted()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError) as caught:
        otel_spans.Spans(log_texts=False)
    assert caught.value.remedy == "pip install 'assay-rag[otel]'"


def test_steps_follow_one_another_and_end_with_the_request() -> None:
    timings = {"search": 2e-6, "generate": 3e-6, "total": 1.0}
    record = RequestRecord("r", "POST", 1_000, {}, ended=10_000, response={"timings": timings})
    assert steps_in_time(record) == [("search", 5_000, 7_000), ("generate", 7_000, 10_000)]
    record.response = {"timings": {"search": 20e-6, "generate": 3e-6}}
    assert steps_in_time(record) == [("search", 1_000, 10_000), ("generate", 10_000, 10_000)]


@pytest.fixture(scope="module")
def mlflow_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An MLflow of these tests."""
    import mlflow

    before, uri = mlflow.get_tracking_uri(), f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"
    # A slow machine takes its time to create the tables.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlflow_traces, "PATIENCE", 60)
        mlflow.set_tracking_uri(uri)
        # It caches for the process whether tracing is on, and other tests may have made it do so.
        mlflow.tracing.reset()
        yield uri
    mlflow.set_tracking_uri(before)


@pytest.mark.parametrize("texts", [False, True])
def test_mlflow_has_a_trace_of_every_sampled_answer(
    texts: bool, bundle: Path, tmp_path: Path, mlflow_here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_here)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", f"serving {texts}")
    with client(bundle, tmp_path, keys=TWO_KEYS, trace_share=1.0, log_texts=texts) as asking:
        answer = asking.post("/ask", json={"question": QUESTION}, headers=bearer(ALICE)).json()
        asking.post("/ask", json={}, headers=bearer(ALICE))
    mlflow = MlflowClient(mlflow_here)
    (trace,) = mlflow.search_traces(locations=[mlflow.get_experiment_by_name(f"serving {texts}").experiment_id])
    assert trace.info.tags["assay.bundle"] == answer["bundle"]
    root = trace.data.spans[0]
    assert root.name == "POST /ask"
    assert {span.name for span in trace.data.spans} >= {"search", "generate"}
    assert {span.span_type for span in trace.data.spans} >= {"RETRIEVER", "CHAT_MODEL", "EMBEDDING"}
    assert root.inputs == ({"question": QUESTION} if texts else {"characters": len(QUESTION)})
    assert root.outputs["passages"][0]["chunk"] == answer["contexts"][0]["chunk"]
    assert (str(trace.to_dict()).lower().count("leaves at") > 0) is texts
    assert ALICE not in str(trace.to_dict())


@pytest.fixture
def sending(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Make a sender of a share of the traces, which passes ids of requests to a function instead of MLflow."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///unused.db")
    monkeypatch.setattr(mlflow_traces, "_trace", lambda record, response, texts: {"request": record.request})

    def make(share: float, log: Any) -> mlflow_traces.SampledTraces:
        sender = mlflow_traces.SampledTraces(share, log_texts=False)
        monkeypatch.setattr(sender._log, "log", log)
        return sender

    return make


def test_a_share_of_the_requests_is_sampled(sending: Any) -> None:
    sent: list[str] = []
    sender, ids = sending(0.25, lambda request: sent.append(request)), [f"{number:02x}{'0' * 22}" for number in range(256)]
    for request in ids:
        sender(RequestRecord(request, "POST", 0, {}, response={"question": ""}))
        sender(RequestRecord(request, "POST", 0, {}))
    sender.close()
    assert sent == ids[:64]


def test_an_mlflow_that_fails_or_is_slow_breaks_nothing(sending: Any) -> None:
    go, began = threading.Event(), threading.Event()

    def stuck(request: str) -> None:
        began.set()
        go.wait()
        raise OSError("refused")

    sender, record = sending(1.0, stuck), RequestRecord("0" * 24, "POST", 0, {}, response={})
    sender(record)
    began.wait()
    for _ in range(mlflow_traces.WAITING + 10):
        sender(record)
    go.set()
    sender.close()
    assert not sender._thread.is_alive()


def test_traces_need_the_address_of_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(ConfigError, match=r"RAG_TRACE_SHARE.*MLFLOW_TRACKING_URI is not set"):
        mlflow_traces.SampledTraces(Settings(trace_share=0.1).trace_share, log_texts=False)
