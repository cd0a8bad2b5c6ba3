"""Requests of a server as traces in MLflow."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"


@dataclass(frozen=True)
class Step:
    """One step of a request; `kind` is a span type of MLflow, times are in nanoseconds since 1970."""

    name: str
    kind: str
    began: int
    ended: int


@dataclass(frozen=True)
class RequestTrace:
    """One request as a trace; times are in nanoseconds since 1970."""

    name: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    attributes: Mapping[str, Any]
    tags: Mapping[str, str]
    metadata: Mapping[str, str]
    began: int
    ended: int
    steps: tuple[Step, ...]


class TraceLog:
    """Logs traces in the experiment MLFLOW_EXPERIMENT_NAME, else in `assay`; MLflow is imported for the first trace."""

    def __init__(self) -> None:
        self._experiment: str | None = None

    def log(self, trace: RequestTrace) -> None:
        """Log a trace; errors of MLflow are raised."""
        import mlflow

        if self._experiment is None:
            name = os.environ.get(EXPERIMENT) or "assay"
            known = mlflow.get_experiment_by_name(name)
            self._experiment = str(known.experiment_id) if known else mlflow.create_experiment(name)
        root = mlflow.start_span_no_context(
            name=trace.name,
            span_type="CHAIN",
            inputs=dict(trace.inputs),
            attributes=dict(trace.attributes),
            tags=dict(trace.tags),
            metadata=dict(trace.metadata),
            experiment_id=self._experiment,
            start_time_ns=trace.began,
        )
        for step in trace.steps:
            span = mlflow.start_span_no_context(name=step.name, span_type=step.kind, parent_span=root, start_time_ns=step.began)
            span.end(end_time_ns=step.ended)
        root.end(outputs=dict(trace.outputs), end_time_ns=trace.ended)

    def flush(self) -> None:
        """Wait until MLflow has sent all traces."""
        if self._experiment is not None:
            import mlflow

            mlflow.flush_trace_async_logging()
