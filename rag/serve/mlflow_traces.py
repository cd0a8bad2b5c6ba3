"""A share of the requests as traces in MLflow, beside the trials that they were measured by."""

import os
import queue
import threading
from collections.abc import Mapping
from typing import Any

from rag.core.errors import ConfigError
from rag.serve.logs import FAILURES
from rag.serve.otel_spans import SEARCHING, laid_out
from rag.serve.request_log import Seen
from rag.tracking.request_traces import RequestTrace, Step, TraceLog

VARIABLE = "MLFLOW_TRACKING_URI"
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
        self._log = TraceLog()
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
                self._log.log(_trace(seen, seen.told or {}, self._log_texts))
            except Exception as error:  # Whatever it is, the next request is to be traced as well.
                told = {"request": seen.request, "error": type(error).__name__}
                FAILURES.warning("a trace is lost", extra={"told": told})
        self._log.flush()


def _trace(seen: Seen, told: Mapping[str, Any], texts: bool) -> RequestTrace:
    return RequestTrace(
        name=f"{seen.method} {seen.route}",
        inputs=_inputs(told, texts),
        outputs=_outputs(told, texts),
        attributes=_attributes(seen, told),
        tags={"assay.bundle": told["bundle"], "assay.model": told["model"]},
        metadata={"mlflow.trace.user": seen.owner or "", "mlflow.trace.session": told.get("session") or ""},
        began=seen.began,
        ended=max(seen.ended, seen.began + 1),
        steps=tuple(Step(name, _kind(name), began, ended) for name, began, ended in laid_out(seen)),
    )


def _kind(step: str) -> str:
    kinds = {"embed": "EMBEDDING", "rerank": "RERANKER", "generate": "CHAT_MODEL"}
    return kinds.get(step, "RETRIEVER" if step in SEARCHING else "CHAIN")


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
