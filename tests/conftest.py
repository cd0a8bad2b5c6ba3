"""What many tests work with: a golden set, an empty folder, a browser."""

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
from support.small_set import write_golden

# How fast a machine draws examples says nothing about what is tested. The same examples everywhere: what passes here must not
# fail elsewhere by its luck, and what fails fails again. `pytest --hypothesis-profile "new examples"` looks for others.
settings.register_profile("new examples", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same examples", settings.get_profile("new examples"), derandomize=True)
settings.load_profile("same examples")

# A shell that runs something in the background lets it not hear Ctrl-C, nor what that starts: tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


SYSTEM = ("serve/", "tracking/", "project/test_docker", "cli/test_story", "cli/test_chat", "bundle/test_bundle_kill")
"""Places of tests with browsers, databases, MLflow, servers, terminals or kills: `make test-fast` leaves them out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of whole systems, by their place or by what they use."""
    root = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(root).as_posix()
        if place.startswith(SYSTEM) or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.system)


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Iterator[None]:
    """Write without waiting for the disk, since no test cuts the power, and create the tables of MLflow once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        if mlflow_tables.is_loaded():
            mlflow_tables.copy_instead_of_migrating(patch)
        yield


@pytest.fixture(autouse=True)
def environment_stays() -> Iterator[None]:
    """What a test, or the code that it tests, leaves in the environment is gone before the next one."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if name != "PYTEST_CURRENT_TEST"})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a file. As long as it is there an event loop runs in this thread: others want their own."""
    with chromium() as found:
        yield found


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
