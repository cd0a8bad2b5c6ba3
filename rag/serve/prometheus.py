"""Metrics for Prometheus. Labels hold names of the server only, so that clients cannot create new series."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.responses import Response

from rag.serve.limits import Shares
from rag.serve.request_log import EndedRequest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STEP_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)


class Meters:
    """Counters of one app, in a registry of its own, so that two apps in a process count apart."""

    def __init__(self, turns: Shares) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("assay_requests", "Requests.", ("method", "route", "status"), registry=registry)
        self.seconds = Histogram(
            "assay_request_seconds", "Seconds of a request.", ("route",), registry=registry, buckets=SECONDS
        )
        self.first = Histogram(
            "assay_first_piece_seconds", "Seconds until an answer begins.", ("route",), registry=registry, buckets=SECONDS
        )
        self.steps = Histogram(
            "assay_step_seconds", "Seconds of a step of answering.", ("step",), registry=registry, buckets=STEP_SECONDS
        )
        self.answers = Counter("assay_answers", "Questions that were answered.", ("model", "abstained"), registry=registry)
        self.tokens = Counter("assay_tokens", "Tokens that models read and wrote.", ("model", "kind"), registry=registry)
        self.cost = Counter("assay_cost_usd", "US dollars, where the price is known.", ("model",), registry=registry)
        self.findings = Counter("assay_findings", "What checks and guards noticed.", ("source", "action"), registry=registry)
        self.broken = Counter("assay_broken_streams", "Streams that ended with an error.", ("error",), registry=registry)
        Gauge("assay_requests_working", "Requests at work.", registry=registry).set_function(lambda: turns.working)
        Gauge("assay_requests_waiting", "Requests that wait.", registry=registry).set_function(lambda: turns.waiting)

    def __call__(self, record: EndedRequest) -> None:
        """Count a request."""
        self.requests.labels(record.method, record.route, str(record.status)).inc()
        self.seconds.labels(record.route).observe(record.seconds)
        if record.failed:
            self.broken.labels(record.failed).inc()
        if record.response is not None:
            self._count(record, record.response)

    def _count(self, record: EndedRequest, response: Mapping[str, Any]) -> None:
        for step, seconds in record.steps.items():
            self.steps.labels(step).observe(seconds)
        if "answer" not in response:
            return
        model = response["model"]
        if record.first is not None:
            self.first.labels(record.route).observe(record.first)
        self.answers.labels(model, str(bool(response["abstained"])).lower()).inc()
        for kind, count in response["tokens"].items():
            self.tokens.labels(model, kind).inc(count)
        self.cost.labels(model).inc(response["cost_usd"] or 0)
        for finding in response["findings"]:
            self.findings.labels(finding["source"], finding["action"]).inc()

    def render(self) -> Response:
        """Return the metrics in the format of Prometheus."""
        return Response(generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
