"""Commands, health checks and settings of the containers, run as written but without containers."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.container_files import arguments_of, composed, filled
from support.databases import postgres
from support.ports import free_port
from support.small_set import write_golden
from support.unmeasured_bundles import seal

from rag.execution.sweep.open_config import config_of
from rag.serve.keys import hashed, new_key
from rag.serve.settings import Settings

PATIENCE = 180.0
"""Seconds that a process has to start on a busy machine."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The compose file."""
    return composed()


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[Path]:
    """Run a process in a folder; yields its log. At the end it gets SIGTERM and must stop."""
    log = folder / "log"
    # Entry points are in the folder of the interpreter, as in the image.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "MLFLOW_"))}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env={**kept, **environment, "PATH": path}, stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield log
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM), log.read_text("utf-8")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def healthy(test: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a health check, run as written, succeeds."""
    command = [sys.executable if part == "python" else part for part in test]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=False).returncode == 0


def wait(test: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    """Wait until a health check succeeds."""
    deadline = time.monotonic() + PATIENCE
    while not healthy(test, environment):
        if time.monotonic() > deadline:
            pytest.fail(log.read_text("utf-8"))
        time.sleep(0.2)


def at(port: int, test: Sequence[str], usual: int) -> list[str]:
    """A health check of the compose file for another port, because tests run in parallel."""
    return [part.replace(f":{usual}/", f":{port}/") for part in test if part != "CMD"]


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    """A PostgreSQL server."""
    with postgres() as server:
        yield server


def test_the_server_of_the_compose_file(compose: dict[str, Any], database: Any, here: Path, tmp_path: Path) -> None:
    """Command and health checks as written, with PostgreSQL, and a link to a bundle."""
    write_golden(here / "golden")
    chosen = ["dataset=native", "dataset.path=golden", "index=[bm25s]", "fusion=single", "embedder=hashing"]
    digest = seal(config_of([*chosen, "generator=extractive"]), here / "bundles" / "small")
    (here / "bundles/current").symlink_to("small")
    service, port, key = compose["services"]["server"], free_port(), new_key()
    told = {name: value for name, value in service["environment"].items() if name.startswith("RAG_") and value is not None}
    environment = {name: filled(value, {"RAG_API_KEYS": f"me:{hashed(key)}"}) for name, value in told.items()}
    environment |= dict(part.split("=", 1) for part in arguments_of("ENV")[-1].split() if part.startswith("RAG_"))
    sessions = database.fresh().replace("postgresql://", f"{told['RAG_SESSIONS'].partition('://')[0]}://", 1)
    environment |= {"RAG_SESSIONS": sessions, "RAG_PORT": str(port)}
    command = [*json.loads(arguments_of("ENTRYPOINT")[0]), *service["command"]]
    command = [part.replace("/bundles/", f"{here}/bundles/") for part in command]
    with running(command, environment, tmp_path) as log:
        wait(at(port, service["healthcheck"]["test"], Settings.port), environment, log)
        assert healthy(json.loads(arguments_of("HEALTHCHECK")[0].partition("CMD ")[2]), environment)
        assert not healthy(at(free_port(), service["healthcheck"]["test"], Settings.port), environment)
        url, body = f"http://127.0.0.1:{port}/chat", json.dumps({"question": "What does a bus ticket cost?"}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=PATIENCE) as reply:
            found = json.load(reply)
        assert "four crowns" in found["answer"]
        assert (found["bundle"], found["turn"]) == (digest, 1)
    assert key not in log.read_text("utf-8")


def test_a_container_without_keys_does_not_start(here: Path, tmp_path: Path) -> None:
    environment = dict(part.split("=", 1) for part in arguments_of("ENV")[-1].split() if part.startswith("RAG_"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    command = [sys.executable, "-m", "rag", *json.loads(arguments_of("CMD")[0])]
    found = subprocess.run(command, cwd=here, env={**kept, **environment}, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "RAG_API_KEYS" in found.stderr
