"""Dask workers: processes of this machine, or a cluster that runs already."""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rag.core.errors import ServiceError, required

PATIENCE = 10.0
"""Seconds to wait for a scheduler."""


@contextmanager
def scheduler(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address; ServiceError when it does not answer."""
    required("execute", "distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ServiceError("execute.address", f"no scheduler answers at {address}", "start one: dask scheduler") from error
    with client:
        yield client


@contextmanager
def processes(count: int) -> Iterator[Any]:
    """A client of `count` processes of this machine, one thread each; they end with the block."""
    required("execute", "distributed")
    from distributed import Client, LocalCluster

    with _without_sigint():
        cluster = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            host="127.0.0.1",
            # Its own port and no dashboard: another cluster may have the usual port.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
        )
    with cluster, Client(cluster) as client:
        try:
            yield client
        except BaseException:
            # A message to a killed worker may fail after the cluster has closed and its silence has ended.
            logging.getLogger("distributed.batched").setLevel(logging.CRITICAL)
            cluster.sync(_end, list(cluster.workers.values()))
            raise


async def _end(nannies: list[Any]) -> None:
    """Kill workers: finished stages are stored, the others are computed again by the next run."""
    import asyncio

    pids = [nanny.pid for nanny in nannies]
    closing = [asyncio.ensure_future(nanny.close()) for nanny in nannies]
    await asyncio.sleep(0)  # Nannies now know that they close, and restart no worker.
    for pid in filter(None, pids):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await asyncio.gather(*closing, return_exceptions=True)


@contextmanager
def _without_sigint() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all processes: this process ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
