"""Reloads bundles at SIGHUP, or when the files at their paths change."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from rag.serve.loaded_bundles import Served

State = tuple[object, ...]


@asynccontextmanager
async def reloading(served: Served, every: float = 1.0) -> AsyncIterator[None]:
    """Reload at SIGHUP inside the block; with `watch`, also when a source has changed, checked every so many seconds."""
    due = asyncio.Event()
    with suppress(ValueError, RuntimeError, NotImplementedError):  # only a main thread gets signals, and not on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, due.set)
    task = asyncio.create_task(_reload_when_due(served, due, every if served.watch else None))
    try:
        yield
    finally:
        task.cancel()


async def _reload_when_due(served: Served, due: asyncio.Event, every: float | None) -> None:
    known = _states(served) if every else []
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(due.wait(), every)
        if every and (current := _states(served)) != known:
            known = current
            due.set()
        if due.is_set():
            due.clear()
            await run_in_threadpool(served.refresh)


def _states(served: Served) -> list[State]:
    return [_state(model.source) for model in served.models]


def _state(source: Path) -> State:
    """The target of a link, and inode, time and size of all files: they change with the bundle.

    The manifest alone does not suffice, because a copy may write it first.
    """
    with suppress(OSError):
        target = source.resolve(strict=True)
        files = sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]
        states = [(path, path.stat()) for path in files]
        return target, *((path, state.st_ino, state.st_mtime_ns, state.st_size) for path, state in states)
    return ()
