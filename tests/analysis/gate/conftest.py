"""A study that was swept, with its baseline, in a folder of its own for every test."""

import shutil
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.gate_experiment import write_gated, write_many
from support.swept_trial import called


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a golden set of 120 questions, a study of two trials that was swept, and its baseline."""
    folder = tmp_path_factory.mktemp("gated")
    write_many(folder / "golden")
    (folder / "here").mkdir()
    write_gated(folder / "here" / "study.yaml", Path("../golden"))
    called(folder / "here", "sweep", "study.yaml", "--no-track")
    called(folder / "here", "baseline", "study.yaml")
    return folder


@pytest.fixture
def here(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, to work in."""
    shutil.copytree(swept, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy" / "here")
    return tmp_path / "copy" / "here"


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb(capsys, monkeypatch)
