"""Figures of a server for Prometheus. Labels are names that the server itself gave: nobody outside makes new series."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.responses import Response

from rag.serve.limits import Shares
from rag.serve.request_log import Seen

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STEP_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)


class Meters:
    """Counters of one app, in a registry of its own: two apps in a process do not meet."""

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

    def __call__(self, seen: Seen) -> None:
        """Count a request."""
        self.requests.labels(seen.method, seen.route, str(seen.status)).inc()
        self.seconds.labels(seen.route).observe(seen.seconds)
        if seen.failed:
            self.broken.labels(seen.failed).inc()
        if seen.told is not None:
            self._count(seen, seen.told)

    def _count(self, seen: Seen, told: Mapping[str, Any]) -> None:
        for step, seconds in seen.steps.items():
            self.steps.labels(step).observe(seconds)
        if "answer" not in told:
            return
        model = told["model"]
        if seen.first is not None:
            self.first.labels(seen.route).observe(seen.first)
        self.answers.labels(model, str(bool(told["abstained"])).lower()).inc()
        for kind, count in told["tokens"].items():
            self.tokens.labels(model, kind).inc(count)
        self.cost.labels(model).inc(told["cost_usd"] or 0)
        for finding in told["findings"]:
            self.findings.labels(finding["source"], finding["action"]).inc()

    def close(self) -> None:
        """Nothing is to be sent: Prometheus fetches."""

    def render(self) -> Response:
        """Show how much is asked and answered, how fast and at what cost, as Prometheus reads it."""
        return Response(generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
