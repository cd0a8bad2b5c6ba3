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
async def reloading(served: Served) -> AsyncIterator[None]:
    """Reload at SIGHUP, and watch the files if that is configured, inside the block."""
    loop, due = asyncio.get_running_loop(), asyncio.Event()
    with suppress(ValueError, RuntimeError, NotImplementedError):  # only a main thread gets signals, and not on Windows
        loop.add_signal_handler(signal.SIGHUP, due.set)
    tasks = [asyncio.create_task(_refreshing(served, due))]
    if served.watch:
        tasks.append(asyncio.create_task(watching(served, due)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def _refreshing(served: Served, due: asyncio.Event) -> None:
    while await due.wait():
        due.clear()
        await run_in_threadpool(served.refresh)


async def watching(served: Served, due: asyncio.Event, every: float = 1.0) -> None:
    """Set `due` when a source has changed; sources are checked every so many seconds."""
    known = _states(served)
    while True:
        await asyncio.sleep(every)
        if (current := _states(served)) != known:
            known = current
            due.set()


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
