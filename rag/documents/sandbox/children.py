"""A pool of confined processes that parse files; a file that ends its process is lost alone."""

import inspect
import json
import os
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from rag.core.errors import ConfigError
from rag.core.roles import Parser
from rag.documents.sandbox.child_process import Answer, ChildProcess
from rag.documents.sandbox.limits import Limits

WORKERS = 4
"""The most processes, unless a config names another number."""


class Children:
    """Confined processes, started when they are needed, ended with the `with` block and with this process."""

    def __init__(self, parsers: Iterable[Parser], workers: int | None, limits: Limits, password: str = "") -> None:
        self.workers, self.limits, self._password = workers or default_workers(), limits, password
        self._installation = installation(parsers)
        self._threads = ThreadPoolExecutor(self.workers, "parsing")
        self._idle: SimpleQueue[ChildProcess | None] = SimpleQueue()
        self._living: set[ChildProcess] = set()
        self._is_over = False
        for _ in range(self.workers):
            self._idle.put(None)

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in list(self._living):
            child.end()
        self._threads.shutdown(wait=True)
        for child in self._living:
            child.end()

    def submit(self, parser: Parser, data: bytes, name: str) -> "Future[Answer]":
        """Parse a file in the next idle process; ConfigError for a parser that cannot be built again."""
        terms = {"seconds": self.limits.seconds, "answer": self.limits.answer}
        head = json.dumps({**described(parser), "name": name, **terms}).encode()
        return self._threads.submit(self._parse, head, data)

    def _parse(self, head: bytes, data: bytes) -> Answer:
        """The answer of a process; where one that parsed other files before ran out of memory or crashed, that of a new one."""
        child = self._idle.get()
        try:
            for _ in range(2):
                child = child or self._started()
                answer = child.ask(head, data)
                if child.is_alive:
                    break
                self._living.discard(child)
                is_first, child = child.files == 1, None
                if is_first or not answer.is_tainted or self._is_over:
                    break
            return answer
        finally:
            self._idle.put(child)

    def _started(self) -> ChildProcess:
        child = ChildProcess(self._installation, self.limits, password=self._password)
        self._living.add(child)
        return child


def default_workers() -> int:
    """As many as cores, at most WORKERS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, WORKERS)


def described(parser: Parser) -> dict[str, Any]:
    """The class of a parser and its parameters: its attributes of their names, or with `_` before them; else ConfigError."""
    target = f"{type(parser).__module__}.{type(parser).__qualname__}"
    parameters: dict[str, Any] = {}
    for name in inspect.signature(type(parser)).parameters:
        kept = [place for place in (name, f"_{name}") if hasattr(parser, place)]
        if not kept:
            remedy = f"assign it to self.{name}: another process builds the parser again"
            raise ConfigError("loader.parsers", f"{target} does not keep its parameter {name!r}", remedy)
        parameters[name] = getattr(parser, kept[0])
    return {"target": target, "parameters": parameters}


def installation(parsers: Iterable[Parser]) -> list[str]:
    """The files and folders that parsers are loaded from: Python, its packages, Assay, and the packages of the parsers."""
    places = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()]
    places += [path for path in sys.path if path.endswith(("site-packages", "dist-packages", ".zip"))]
    for package in dict.fromkeys(["rag", *(type(parser).__module__.partition(".")[0] for parser in parsers)]):
        module = sys.modules[package]
        places += [*getattr(module, "__path__", []), *filter(None, [getattr(module, "__file__", None)])]
    return list(dict.fromkeys(places))
