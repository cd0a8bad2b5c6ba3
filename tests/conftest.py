"""Fixtures of many tests: a golden set, an empty folder, a browser; the marker `system`."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser
from support import mlflow_tables
from support.chromium import chromium
from support.command_line import verb
from support.small_set import write_golden

# No deadline: machines differ in speed. The same examples everywhere, so that results can be repeated.
# `pytest --hypothesis-profile "new examples"` looks for others.
settings.register_profile("new examples", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same examples", settings.get_profile("new examples"), derandomize=True)
settings.load_profile("same examples")

# Processes that a shell runs in the background ignore SIGINT, and so do their children; tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


SYSTEM = (
    *("serve/", "tracking/", "bundle/", "cli/", "plugins/mlflow_registry/", "plugins/stores/test_index_stores_killed"),
    *("project/test_docs", "project/test_docker", "execution/test_look_stage", "execution/graph/test_executors"),
    *("analysis/test_why", "analysis/compare/test_cli_compare", "analysis/gate/test_gate_action", "execution/judges/"),
    *(f"execution/store/test_{name}" for name in ("budget", "cached_vectors", "concurrency", "drives_without_locks")),
    *(f"execution/sweep/test_{name}" for name in ("ablations", "few_questions", "holdout", "parser_")),
    *("execution/sweep/selection/test_winner_decision", "config/test_composer"),
)
"""Tests with databases, MLflow, servers, terminals, many processes, kills, many experiments or dear references."""

SYSTEM_FIXTURES = {"browser", "swept", "ran"}
"""Fixtures that open a browser or run an experiment."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of whole systems, by their file or by what they use: `make test-fast` leaves them out."""
    root = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(root).as_posix()
        if place.startswith(SYSTEM) or SYSTEM_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.system)


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Iterator[None]:
    """Write without waiting for the disk, since no test cuts the power, and create the tables of MLflow once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        if mlflow_tables.is_loaded():
            mlflow_tables.copy_instead_of_migrating(patch)
        yield


os.environ["RAG_ENV_FILE"] = ""
"""No test, and no process that one starts, reads a developer's .env."""


@pytest.fixture(autouse=True)
def environment_stays() -> Iterator[None]:
    """Restore the environment variables after each test."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if name != "PYTEST_CURRENT_TEST"})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a file; its event loop occupies the thread, so that it cannot stay for longer."""
    with chromium() as launched:
        yield launched


rag = pytest.fixture(verb)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A golden set in the native format: documents/ and questions.jsonl."""
    return write_golden(tmp_path / "golden")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the test works in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def conf(here: Path) -> Callable[[str, str], Path]:
    """Write `conf/<name>` of the user below the working folder."""

    def write(name: str, text: str) -> Path:
        path = here / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write
