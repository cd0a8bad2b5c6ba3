"""Exit codes for scripts: a crash, or output that cannot be written, is not a verdict."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import verb

from rag.config import experiment
from rag.core.errors import BudgetError
from rag.core.files import replace_text

FULL = Path("/dev/full")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which `rag` is the command line."""
    done = f'rag() {{ {sys.executable} -m rag "$@"; }}; {command}'
    # Without a buffer, nothing would be left to write at exit.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(["bash", "-c", done], capture_output=True, text=True, check=False, timeout=60, env=env)


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
def test_full_output_is_no_verdict() -> None:
    done = shell("rag --help > /dev/full")
    assert done.returncode == 70
    assert done.stderr == "standard output: cannot be written (No space left on device)\n  → make room, or send it elsewhere\n"


def test_closed_output_is_no_verdict() -> None:
    done = shell("rag --help >&-")
    assert done.returncode == 70
    assert done.stderr.startswith("standard output: is closed\n  → ")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
def test_errors_that_cannot_be_written_keep_their_code() -> None:
    assert shell("rag data schema nothing 2> /dev/full").returncode == 2
    assert shell("rag data schema nothing 2>&-").returncode == 2


def test_a_crash_keeps_its_traceback_and_has_a_code_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def load(*given: object) -> None:
        raise OSError("a disk is on fire")

    monkeypatch.setattr(experiment, "load", load)
    said = verb(capsys, monkeypatch)("gate", "lexical")
    assert said.code == 70
    assert said.err.endswith("OSError: a disk is on fire\n")
    assert "Traceback" in said.err
    assert "standard output" not in said.err
    monkeypatch.setattr(experiment, "load", lambda *_: replace_text(tmp_path, ""))
    said = verb(capsys, monkeypatch)("gate", "lexical")
    assert (said.code, said.err.splitlines()[0]) == (2, f"{tmp_path}: cannot be used (Is a directory)"), "no file can be there"


def test_a_spent_budget_has_its_own_code_and_help_lists_the_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*given: object) -> None:
        raise BudgetError("budget.usd", "is spent", "raise it")

    monkeypatch.setattr(experiment, "load", load)
    rag = verb(capsys, monkeypatch)
    assert rag("gate", "lexical").code == 4
    text = " ".join(rag("--help").out.split())
    for code in ("0 done", "1 worse", "2 wrong input", "3 undecided", "4 budget", "70 crashed", "130 interrupted"):
        assert code in text
