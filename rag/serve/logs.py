"""What a server writes of its requests: one JSON object a line on standard error, without what was asked or answered."""

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.types import Scope

from rag.core.redaction import HIDDEN, SECRET_VALUE

REQUESTS = logging.getLogger("rag.serve.requests")
FAILURES = logging.getLogger("rag.serve.failures")


class Lines(logging.Formatter):
    """A record as a line of JSON: when, how bad, and what it was given as `extra={"told": …}`, or its message.

    Of an error that comes with it, whoever logged it, the kind and the calls are told and not its words.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line; values that look like keys are hidden, and no value can begin a line of its own."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = getattr(record, "told", None) or {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            # What follows the first line repeats the error, as asyncio does of a task that nobody waited for.
            told = told | {"message": record.getMessage().partition("\n")[0]} | failure(record.exc_info[1])
        line = json.dumps({"at": at, "level": record.levelname.lower(), "log": record.name} | told, default=str)
        return SECRET_VALUE.sub(HIDDEN, line)


LOGGING: Mapping[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": "rag.serve.logs.Lines"}},
    "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines"}},
    # Libraries would otherwise write tracebacks, and the words of errors with them.
    "root": {"handlers": ["lines"], "level": "WARNING"},
    "loggers": {
        "rag.serve": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        # It would write paths and queries as they were sent.
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
    },
}
"""For `uvicorn.Config(log_config=LOGGING, access_log=False)`."""


def route_of(scope: Scope) -> str:
    """The path of the route that answered, its parameters by name; `-` for none: what was sent may be a text."""
    return str(getattr(scope.get("route"), "path", None) or "-")


def failure(error: BaseException) -> dict[str, Any]:
    """The kind of an error, and file, line and function of each call that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    calls = [f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "calls": calls}


def tell_failure(error: BaseException, scope: Scope, log_texts: bool) -> None:
    """Log where something failed, file and line of each call; its message, which may hold a text, only with `log_texts`."""
    told = {"request": scope.get("state", {}).get("request"), "route": route_of(scope)} | failure(error)
    FAILURES.error("failed", extra={"told": told | ({"message": str(error)} if log_texts else {})})
