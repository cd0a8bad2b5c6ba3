"""A golden set and a working folder for the tests of everything below execution."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small import write_golden


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
