"""Processes of MLflow: a tracking server, or a served model."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.ports import free_port

PATIENCE = 180.0
"""Seconds that a process has to start on a busy machine."""


@contextmanager
def mlflow_process(*arguments: str, folder: Path, ping: str, tracking: str = "") -> Iterator[str]:
    """The address of a process of MLflow that works in a folder; its output is in `log` there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    environment |= {"MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment |= {"MLFLOW_DISABLE_TELEMETRY": "true", **({"MLFLOW_TRACKING_URI": tracking} if tracking else {})}
    # MLflow starts uvicorn by its name.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    port, log = free_port(), folder / "log"
    command = [sys.executable, "-m", "mlflow", *arguments, "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=file, stderr=file, start_new_session=True)
    try:
        _wait(f"http://127.0.0.1:{port}/{ping}", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(log.read_text("utf-8")[-2000:])
