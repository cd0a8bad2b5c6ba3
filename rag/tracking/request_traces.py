"""Requests of a server as traces in MLflow."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"


@dataclass(frozen=True)
class Step:
    """A step of a request, with MLflow's name for its kind; times are nanoseconds since 1970."""

    name: str
    kind: str
    began: int
    ended: int


class TraceLog:
    """Logs traces in the experiment MLFLOW_EXPERIMENT_NAME, or else `assay`. MLflow is loaded with the first one."""

    def __init__(self) -> None:
        self._experiment: str | None = None

    def log(self, root: Mapping[str, Any], steps: Sequence[Step], outputs: Mapping[str, Any], ended: int) -> None:
        """Log a trace; errors of MLflow are raised. `root` has the arguments of MLflow's `start_span_no_context`."""
        import mlflow

        if self._experiment is None:
            name = os.environ.get(EXPERIMENT) or "assay"
            known = mlflow.get_experiment_by_name(name)
            self._experiment = str(known.experiment_id) if known else mlflow.create_experiment(name)
        above = mlflow.start_span_no_context(**root, span_type="CHAIN", experiment_id=self._experiment)
        for step in steps:
            span = mlflow.start_span_no_context(step.name, step.kind, parent_span=above, start_time_ns=step.began)
            span.end(end_time_ns=step.ended)
        above.end(outputs=dict(outputs), end_time_ns=ended)

    def flush(self) -> None:
        """Wait until MLflow has sent all traces; do nothing if there was none."""
        if self._experiment is not None:
            import mlflow

            mlflow.flush_trace_async_logging()
