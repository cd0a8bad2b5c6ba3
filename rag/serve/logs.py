"""Logging of a server: one JSON object a line on standard error, without questions and answers."""

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.types import Scope

from rag.core.redaction import redacted_json

REQUESTS = logging.getLogger("rag.serve.requests")
FAILURES = logging.getLogger("rag.serve.failures")


class Lines(logging.Formatter):
    """Formats a record as a line of JSON: time, level, logger, and its `extra={"values": …}`, or else its message.

    Of an exception, whichever library logged it, the class and the calls are written and not the message.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line; values that look like keys are hidden, but for `ids` that the server made; none can begin a new line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values = getattr(record, "values", None) or {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            # Lines after the first may repeat the exception, as in asyncio's message about a task that was never awaited.
            values = values | {"message": record.getMessage().partition("\n")[0]} | failure(record.exc_info[1])
        head = {"at": at, "level": record.levelname.lower(), "log": record.name, **getattr(record, "ids", {})}
        return json.dumps(head | redacted_json(values))


LOGGING: Mapping[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": "rag.serve.logs.Lines"}},
    "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines"}},
    # The root logger formats the tracebacks of libraries too, which would hold the messages of exceptions.
    "root": {"handlers": ["lines"], "level": "WARNING"},
    "loggers": {
        "rag.serve": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        # It would log paths and queries as they were sent.
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
    },
}
"""For `uvicorn.Config(log_config=LOGGING, access_log=False)`."""


def route_of(scope: Scope) -> str:
    """The path of the matched route with the names of its parameters; `-` if none matched: the sent path may hold a text."""
    return str(getattr(scope.get("route"), "path", None) or "-")


def failure(error: BaseException) -> dict[str, Any]:
    """The class of an exception, and file, line and function of each call that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    calls = [f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "calls": calls}


def log_failure(error: BaseException, scope: Scope, log_texts: bool) -> None:
    """Log file and line of each call that led to an exception; its message, which may hold a text, only with `log_texts`."""
    values = {"request": scope.get("state", {}).get("request"), "route": route_of(scope)} | failure(error)
    FAILURES.error("failed", extra={"values": values | ({"message": str(error)} if log_texts else {})})
