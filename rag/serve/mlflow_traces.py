"""A share of the requests as traces in MLflow, next to the runs of the trials."""

import os
import queue
import threading
from collections.abc import Mapping
from typing import Any

from rag.core.errors import ConfigError
from rag.serve.logs import FAILURES
from rag.serve.otel_spans import SEARCHING, route_attributes, steps_in_time
from rag.serve.request_log import RequestRecord
from rag.tracking.request_traces import Step, TraceLog

VARIABLE = "MLFLOW_TRACKING_URI"
WAITING = 256
"""Traces that may wait for a slow MLflow; further ones are dropped."""

PATIENCE = 5.0
"""Seconds that a server which ends waits until its last traces are sent."""


class SampledTraces:
    """Sends traces from a thread of its own, so that no request waits for MLflow; a trace that is lost is logged.

    ConfigError if MLFLOW_TRACKING_URI is not set. Traces hold texts only with `log_texts`.
    """

    def __init__(self, share: float, log_texts: bool) -> None:
        if not os.environ.get(VARIABLE):
            remedy = f"set {VARIABLE}, for example to http://127.0.0.1:5000, or leave RAG_TRACE_SHARE at 0"
            raise ConfigError("RAG_TRACE_SHARE", f"is {share:g}, and {VARIABLE} is not set", remedy)
        self._share, self._log_texts = share, log_texts
        self._waiting: queue.Queue[RequestRecord | None] = queue.Queue(WAITING)
        self._log = TraceLog()
        self._thread = threading.Thread(target=self._work, name="mlflow traces", daemon=True)
        self._thread.start()

    def __call__(self, record: RequestRecord) -> None:
        """Queue one of `1 / share` requests, if it was answered."""
        # The id is random.
        if record.response is None or int(record.request[:8], 16) >= self._share * 2**32:
            return
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            _log_loss(record, "MLflow is too slow")

    def close(self) -> None:
        """Send the traces that are left, within PATIENCE."""
        try:
            self._waiting.put(None, timeout=PATIENCE)
        except queue.Full:
            return
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while (record := self._waiting.get()) is not None:
            try:
                self._log.log(**_trace(record, record.shown, self._log_texts))
            except Exception as error:  # After any error, the next trace is tried as well.
                _log_loss(record, type(error).__name__)
        self._log.flush()


def _log_loss(record: RequestRecord, error: str) -> None:
    FAILURES.warning("a trace is lost", extra={"values": {"request": record.request, "error": error}})


def _trace(record: RequestRecord, response: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    """The arguments of TraceLog.log."""
    root = {
        "name": f"{record.method} {record.route}",
        "inputs": {"question": response["question"]} if texts else {"characters": len(response["question"])},
        "attributes": _attributes(record, response),
        "tags": {"assay.bundle": response["bundle"], "assay.model": response["model"]},
        "metadata": {"mlflow.trace.user": record.owner or "", "mlflow.trace.session": response.get("session") or ""},
        "start_time_ns": record.began,
    }
    steps = [Step(name, _kind(name), began, ended) for name, began, ended in steps_in_time(record)]
    return {"root": root, "steps": steps, "outputs": _outputs(response, texts), "ended": max(record.ended, record.began + 1)}


def _kind(step: str) -> str:
    kinds = {"embed": "EMBEDDING", "rerank": "RERANKER", "generate": "CHAT_MODEL", "look": "AGENT"}
    return kinds.get(step, "RETRIEVER" if step in SEARCHING else "CHAIN")


def _attributes(record: RequestRecord, response: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {
        "assay.request": record.request,
        "assay.answer": response["id"],
        "assay.bundle": response["bundle"],
    }
    known |= route_attributes(response)
    if "tokens" in response:
        read, wrote = response["tokens"]["prompt"], response["tokens"]["completion"]
        known["mlflow.chat.tokenUsage"] = {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote}
    return known


def _outputs(response: Mapping[str, Any], texts: bool) -> dict[str, Any]:
    passages = response.get("passages", response.get("contexts", ()))
    outputs: dict[str, Any] = {"passages": [{"chunk": each["chunk"], "score": each["score"]} for each in passages]}
    if "answer" in response:
        outputs |= {"abstained": response["abstained"], "input": response["input"], "cost_usd": response["cost_usd"]}
        outputs |= {"look": response["look"]} if texts and "look" in response else {}
        outputs |= {"answer": response["answer"]} if texts else {"characters": len(response["answer"])}
    return outputs
