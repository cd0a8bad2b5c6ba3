"""When bundles are exchanged: at SIGHUP, or when what their paths lead to changes."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from rag.serve.loaded_bundles import Served

State = tuple[object, ...]


@asynccontextmanager
async def switching(served: Served) -> AsyncIterator[None]:
    """Listen for SIGHUP, and watch where that is wanted, as long as a server runs."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    with suppress(ValueError, RuntimeError, NotImplementedError):  # only a main thread hears signals, and not on Windows
        loop.add_signal_handler(signal.SIGHUP, asked.set)
    tasks = [asyncio.create_task(_refreshing(served, asked))]
    if served.watch:
        tasks.append(asyncio.create_task(watching(served, asked)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def _refreshing(served: Served, asked: asyncio.Event) -> None:
    while await asked.wait():
        asked.clear()
        await run_in_threadpool(served.refresh)


async def watching(served: Served, asked: asyncio.Event, every: float = 1.0) -> None:
    """Ask for a refresh when what a source leads to has changed, looked at every so many seconds."""
    known = _states(served)
    while True:
        await asyncio.sleep(every)
        if (found := _states(served)) != known:
            known = found
            asked.set()


def _states(served: Served) -> list[State]:
    return [_state(model.source) for model in served.models]


def _state(source: Path) -> State:
    """What tells a bundle from another without reading it: where a link leads, and when its files were written.

    Of all files, for whoever copies one into place may write the manifest first.
    """
    with suppress(OSError):
        target = source.resolve(strict=True)
        files = sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]
        return target, *((path, found.st_ino, found.st_mtime_ns, found.st_size) for path in files for found in [path.stat()])
    return ()
