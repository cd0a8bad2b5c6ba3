"""A collector of spans that speaks OTLP over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


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
