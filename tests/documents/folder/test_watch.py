"""Changes of a folder, made by another process, reach the watcher."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.core.errors import DataError
from rag.documents.folder.watch import changes

EDITOR = """
import os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Iterator[set[str]]]:
    (tmp_path / "old.md").write_text("old")
    stop = threading.Event()
    alarm = threading.Timer(20, stop.set)  # a lost event ends the test instead of holding it
    alarm.start()
    yield changes(tmp_path, stop)
    alarm.cancel()


@pytest.mark.parametrize("polling", ["", "1"])
def test_files_that_a_process_adds_edits_moves_and_removes_are_named(
    tmp_path: Path, watched: Iterator[set[str]], monkeypatch: pytest.MonkeyPatch, polling: str
) -> None:
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", polling)
    with subprocess.Popen(
        [sys.executable, "-c", EDITOR, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as editor:
        assert editor.stdin
        assert editor.stdout

        def after(code: str) -> set[str]:
            editor.stdin.write(code + "\n")
            editor.stdin.flush()
            assert editor.stdout.readline() == "done\n"
            return next(watched)

        assert next(watched) == set()
        assert after("(folder / 'new.md').write_text('new'); (folder / '.hidden.md').write_text('x')") == {"new.md"}
        assert after("(folder / 'old.md').write_text('changed')") == {"old.md"}
        assert after("(folder / 'deep').mkdir(); os.replace(folder / 'new.md', folder / 'deep' / 'b.md')") == {
            "new.md",
            "deep/b.md",
        }
        assert after("os.rename(folder / 'deep', folder / 'moved')") == {"deep/b.md", "moved/b.md"}
        assert after("(folder / 'moved' / 'b.md').unlink(); (folder / 'old.md').unlink()") == {"moved/b.md", "old.md"}
        editor.stdin.close()


def test_a_change_before_the_first_set_is_not_lost(tmp_path: Path, watched: Iterator[set[str]]) -> None:
    assert next(watched) == set()
    (tmp_path / "between.md").write_text("x")
    assert next(watched) == {"between.md"}


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        next(changes(tmp_path / "absent"))


def test_rag_ingest_watch_shows_each_change_until_it_is_interrupted(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# First")
    command = [sys.executable, "-m", "rag", "ingest", str(folder), "--watch"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        alarm = threading.Timer(60, process.kill)
        alarm.start()
        assert process.stdout

        def shown() -> str:
            return next(line for line in process.stdout if " included; " in line)

        assert shown().startswith("1 file: 1 included; 7 characters")
        (folder / "b.md").write_text("# Second")
        assert shown().startswith("2 files: 2 included; 15 characters")
        (folder / "a.md").unlink()
        assert shown().startswith("1 file: 1 included; 8 characters")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        alarm.cancel()
