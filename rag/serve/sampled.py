"""A share of the requests as traces in MLflow, beside the trials that they were measured by."""

import os
import queue
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag.core.errors import ConfigError
from rag.serve.logs import FAILURES
from rag.serve.observing import Seen
from rag.serve.spans import SEARCHING, laid_out

if TYPE_CHECKING:
    from mlflow.entities.span import LiveSpan

VARIABLE = "MLFLOW_TRACKING_URI"
EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
WAITING = 256
"""Traces that may wait for an MLflow that is slow; what comes then is not sent."""

PATIENCE = 5.0
"""Seconds that a server which ends waits for its last traces to be sent."""


class Sampled:
    """Sends traces from a thread of its own, so that no request ever waits for MLflow; what it cannot send is lost, and told.

    ConfigError where nothing says which MLflow. Texts stand in traces only with `log_texts`.
    """

    def __init__(self, share: float, log_texts: bool) -> None:
        if not os.environ.get(VARIABLE):
            remedy = f"set {VARIABLE}, for example to http://127.0.0.1:5000, or leave RAG_TRACE_SHARE at 0"
            raise ConfigError("RAG_TRACE_SHARE", f"is {share:g}, and {VARIABLE} is not set", remedy)
        self._share, self._log_texts = share, log_texts
        self._waiting: queue.Queue[Seen | None] = queue.Queue(WAITING)
        self._experiment: str | None = None
        self._thread = threading.Thread(target=self._work, name="mlflow traces", daemon=True)
        self._thread.start()

    def __call__(self, seen: Seen) -> None:
        """Have one request in `1 / share` sent, if it was answered."""
        # The id is random, and the same request is sampled wherever it is looked at.
        if seen.told is None or int(seen.request[:8], 16) >= self._share * 2**32:
            return
        try:
            self._waiting.put_nowait(seen)
        except queue.Full:
            FAILURES.warning("a trace is lost", extra={"told": {"request": seen.request, "error": "MLflow is too slow"}})

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        try:
            self._waiting.put(None, timeout=PATIENCE)
        except queue.Full:
            return
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while (seen := self._waiting.get()) is not None:
            try:
                self._send(seen, seen.told or {})
            except Exception as error:  # Whatever it is, the next request is to be traced as well.
                told = {"request": seen.request, "error": type(error).__name__}
                FAILURES.warning("a trace is lost", extra={"told": told})
        if self._experiment is not None:
            import mlflow

            mlflow.flush_trace_async_logging()

    def _send(self, seen: Seen, told: Mapping[str, Any]) -> None:
        import mlflow

        if self._experiment is None:
            name = os.environ.get(EXPERIMENT) or "assay"
            known = mlflow.get_experiment_by_name(name)
            self._experiment = str(known.experiment_id) if known else mlflow.create_experiment(name)
        root = mlflow.start_span_no_context(
            name=f"{seen.method} {seen.route}",
            span_type="CHAIN",
            inputs=_inputs(told, self._log_texts),
            attributes=_attributes(seen, told),
            tags={"assay.bundle": told["bundle"], "assay.model": told["model"]},
            metadata={"mlflow.trace.user": seen.owner or "", "mlflow.trace.session": told.get("session") or ""},
            experiment_id=self._experiment,
            start_time_ns=seen.began,
        )
        for name, began, ended in laid_out(seen):
            _step(root, name, began, ended)
        root.end(outputs=_outputs(told, self._log_texts), end_time_ns=max(seen.ended, seen.began + 1))


def _step(root: "LiveSpan", name: str, began: int, ended: int) -> None:
    import mlflow

    kinds = {"embed": "EMBEDDING", "rerank": "RERANKER", "generate": "CHAT_MODEL"}
    kind = kinds.get(name, "RETRIEVER" if name in SEARCHING else "CHAIN")
    mlflow.start_span_no_context(name=name, span_type=kind, parent_span=root, start_time_ns=began).end(end_time_ns=ended)


def _attributes(seen: Seen, told: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {"assay.request": seen.request, "assay.answer": told["id"], "assay.bundle": told["bundle"]}
    if "tokens" in told:
        read, wrote = told["tokens"]["prompt"], told["tokens"]["completion"]
        known["mlflow.chat.tokenUsage"] = {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote}
    return known


def _inputs(told: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    return {"question": told["question"]} if texts else {"characters": len(told["question"])}


def _outputs(told: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    passages = [{"chunk": one["chunk"], "score": one["score"]} for one in told.get("passages", told.get("contexts", ()))]
    found: dict[str, Any] = {"passages": passages}
    if "answer" in told:
        found |= {"abstained": told["abstained"], "cost_usd": told["cost_usd"]}
        found |= {"answer": told["answer"]} if texts else {"characters": len(told["answer"])}
    return found
