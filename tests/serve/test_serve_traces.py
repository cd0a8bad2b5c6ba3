"""Requests as spans of OpenTelemetry, sent to a collector, and to MLflow."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.testclient import TestClient
from support.small_server import ALICE, QUESTION, TWO_KEYS, bearer, small_app

from rag.serve import otel_spans
from rag.serve.otel_spans import steps_in_time
from rag.serve.request_log import EndedRequest
from rag.tracking.mlflow_client import prepare


class Collector(ThreadingHTTPServer):
    """Receives OTLP over HTTP, and stores or refuses the spans."""

    daemon_threads = True

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.status, self.paths, self.bodies = status, list[str](), list[bytes]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> dict[str, Span]:
        """The spans by name."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        scopes = [scope for request in requests for resource in request.resource_spans for scope in resource.scope_spans]
        return {span.name: span for scope in scopes for span in scope.spans}


class Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.paths.append(self.path)
        self.server.bodies.append(body)
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    with Collector(status) as collector:
        thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


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


def spans_of(bundle: Path, folder: Path, parent: bool = True, **settings: Any) -> tuple[Spans, list[bytes]]:
    """The spans of one question, below those of the client or not, and the bodies that held them."""
    with collecting() as collector, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with client(bundle, folder, keys=TWO_KEYS, **settings) as asking:
            headers = bearer(ALICE) | ({"traceparent": PARENT} if parent else {})
            assert asking.post("/chat", json={"question": QUESTION}, headers=headers).status_code == 200
            asking.get("/healthz")
        assert set(collector.paths) == {"/v1/traces"}
        return collector.spans, collector.bodies


@pytest.fixture(scope="module")
def sent(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Spans:
    """The spans of one question, without texts."""
    return spans_of(bundle, tmp_path_factory.mktemp("sent"))[0]


def test_a_question_becomes_spans_below_those_of_the_client(sent: Spans) -> None:
    root, retrieval, chat = sent["POST /chat"], span_named(sent, "retrieval "), span_named(sent, "chat ")
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    assert root.kind == Span.SPAN_KIND_SERVER
    assert retrieval.parent_span_id == chat.parent_span_id == root.span_id
    assert {name for name, span in sent.items() if span.parent_span_id == retrieval.span_id} >= {"embed", "search", "fuse"}
    assert {name for name, span in sent.items() if span.parent_span_id == chat.span_id} == {"prompt", "generate"}
    assert {span.trace_id for span in sent.values()} == {root.trace_id}
    assert not any("healthz" in name for name in sent)


def test_attributes_have_the_names_of_opentelemetry(sent: Spans) -> None:
    root, retrieval = attributes(sent["POST /chat"]), attributes(span_named(sent, "retrieval "))
    expected = {"http.request.method": "POST", "http.route": "/chat", "http.response.status_code": 200, "user.id": "alice"}
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
    sent, _ = spans_of(bundle, tmp_path, log_texts=True)
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


def test_a_collector_that_refuses_breaks_nothing(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel_spans, "PATIENCE", 200)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with collecting(503) as collector:
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


def test_steps_follow_one_another_and_end_with_the_request() -> None:
    timings = {"search": 2e-6, "generate": 3e-6, "total": 1.0}
    record = EndedRequest("r", "POST", 1_000, {}, ended=10_000, response={"timings": timings})
    assert steps_in_time(record) == [("search", 5_000, 7_000), ("generate", 7_000, 10_000)]
    record.response = {"timings": {"search": 20e-6, "generate": 3e-6}}
    assert steps_in_time(record) == [("search", 1_000, 10_000), ("generate", 10_000, 10_000)]


def test_mlflow_takes_the_spans_as_a_trace(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient
    from mlflow.server import handlers
    from mlflow.server.otel_api import otel_router

    prepare(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setattr(handlers, "_tracking_store", client._tracking_client.store)
    app = FastAPI()
    app.include_router(otel_router)
    spans, bodies = spans_of(bundle, tmp_path, log_texts=True, parent=False)
    with TestClient(app) as server:
        for body in bodies:
            headers = {"x-mlflow-experiment-id": "0", "content-type": "application/x-protobuf"}
            assert server.post("/v1/traces", content=body, headers=headers).status_code == 200
    (trace,) = client.search_traces(locations=["0"])
    kinds = {span.name.split()[0]: span.span_type for span in trace.data.spans}
    assert kinds.keys() == {name.split()[0] for name in spans}
    assert kinds.items() >= {"chat": "CHAT_MODEL", "embed": "EMBEDDING", "search": "RETRIEVER", "prompt": "CHAIN"}.items()
    metadata = trace.info.trace_metadata
    session = attributes(span_named(spans, "chat "))["gen_ai.conversation.id"]
    assert (metadata["mlflow.trace.user"], metadata["mlflow.trace.session"]) == ("alice", session)
    assert QUESTION in str(next(span for span in trace.data.spans if span.name.startswith("chat ")).inputs)
