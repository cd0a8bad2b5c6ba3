"""`rag try` and `rag ask` about folders as they are: copies, too much text, other languages, changes, kills."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from support.command_line import Verb, verb

from rag.__main__ import main
from rag.api.first_sweep import try_folder
from rag.components.loaders import folder as loaders

HANDBOOK = Path(__file__).parents[2] / "datasets" / "handbook" / "documents"
FAST = ("index=[bm25s]", "fusion=single", "latency=0", "chunker=recursive", "passage=plain", "selector=none", "--no-track")
GERMAN = "Die Fähre nach Holm fährt täglich ab, und eine Fahrkarte für die Überfahrt kostet an diesem Tag nicht mehr als sonst."


@pytest.fixture
def folder(here: Path) -> Path:
    """Five files of the handbook, below a name that shells and overrides must quote."""
    place = here / "harbours, 'old' = ~new 🚢"
    place.mkdir()
    for path in sorted(HANDBOOK.rglob("*.md"))[:5]:
        (place / path.name).write_bytes(path.read_bytes())
    return place


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb(capsys, monkeypatch)


def test_a_folder_is_read_once_without_copies_and_goes_on_after_changes(
    rag: Verb, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = min(folder.iterdir())
    for number in range(20):
        (folder / f"zz {number}.md").write_bytes(first.read_bytes())
    os.mkfifo(folder / "pipe.md")
    (folder / "loop").symlink_to(folder)
    reads: list[int] = []
    read = loaders.read_files
    monkeypatch.setattr(
        loaders, "read_files", lambda files, *rest, **more: reads.append(len(files)) or read(files, *rest, **more)
    )
    told = rag("try", str(folder), *FAST)
    assert told.code == 0, told.err
    assert "5 of 27 files read" in told.out
    assert "left out: 20 files: copy of another file" in told.out
    assert reads == [25], "for language, questions, sweep, controls and report together"
    assert rag("ask", "Who may lead a tour?", str(folder)).code == 0
    try_folder(str(folder), *FAST[:-1])
    assert reads == [25] * 3
    path = next(Path("datasets").glob("*/questions.jsonl"))
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    gone = {place["doc"] for row in rows for group in row["evidence"] for place in group["any"]}
    lost = sorted(gone)[0]
    (folder / lost).unlink()
    (folder / lost).mkdir()
    told = rag("try", str(folder), *FAST)
    assert told.code == 0, told.err
    left = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    kept = [row["id"] for row in rows if lost not in json.dumps(row["evidence"])]
    assert 0 < len(left) == len(kept) < len(rows)
    assert f"{len(rows) - len(left)} question" in told.out
    assert "their evidence is gone" in told.out


def test_a_large_folder_is_sampled_by_names_and_says_so_first(rag: Verb, folder: Path) -> None:
    (folder / "large.txt").write_bytes(b"word " * 900_000)
    told = rag("try", str(folder), *FAST)
    assert told.code == 0, told.err
    assert "is large: 5 of 6 files are read" in told.out.splitlines()[0]
    assert "loader.sample=null: 4.5 MB of text, about 2 min" in told.out.splitlines()[0]
    (folder.parent / "one").mkdir()
    (folder / "large.txt").rename(folder.parent / "one" / "large.txt")
    told = rag("try", str(folder.parent / "one"), *FAST)
    assert (told.code, "1 not in the sample" in told.err, "split -C 1m FILE" in told.err) == (2, True, True), told.err


def test_ask_finds_the_language_as_try_does(rag: Verb, folder: Path) -> None:
    for path in folder.iterdir():
        path.write_text(f"{GERMAN} {path.stem}\n" * 4, "utf-8")
    assert rag("ask", "Was kostet eine Fahrkarte nach Holm?", str(folder), "--json").code == 0
    assert rag("ask", "Was kostet das?", str(folder), "language=english", "index=[bm25s]", "fusion=single", "--json").code == 0


def test_what_is_closed_is_counted_and_the_rest_is_read(rag: Verb, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "closed").mkdir()
    (folder / "closed" / "a.md").write_text("A")
    (folder.parent / "other" / "empty").mkdir(parents=True)
    (folder.parent / "other" / "link").symlink_to(folder)
    stat = os.stat

    def refusing(path: str | Path, **more: bool) -> os.stat_result:
        if f"closed{os.sep}" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **more)

    monkeypatch.setattr(os, "stat", refusing)  # root may read everything
    monkeypatch.setattr(os, "lstat", partial(refusing, follow_symlinks=False))
    told = rag("ask", "Who may lead a tour?", "other/link")
    assert (told.code, "5 read, 1 not: 1 not readable" in told.err) == (0, True), told.err
    assert "is an empty folder" in rag("ask", "Who?", "other/empty").err
    assert "there is no such folder" in rag("ask", "Who?", "other/none").err


def test_ctrl_c_during_imports_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.cli.main", lambda: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit, match="130"):
        main()


@pytest.mark.system
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_goes_on_to_the_same_board(folder: Path, here: Path, sent: signal.Signals) -> None:
    def board(work: Path, until: str | None = None) -> list[object]:
        work.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "rag", "try", str(folder), *FAST]
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while until and process.poll() is None and not list(work.glob(until)):
            time.sleep(0.01)
        if until:
            process.send_signal(sent)
        err = process.communicate(timeout=300)[1]
        assert "Traceback" not in err
        assert process.returncode in ((0, 130, -sent) if until else (0,)), err
        found = list(work.glob("reports/*/leaderboard.json"))
        return json.loads(found[0].read_text("utf-8"))["trials"] if found and not until else []

    want = board(here / "whole")
    for place in ("datasets/*/questions.jsonl", "experiments/*.yaml", ".rag/store/stages/*"):
        board(here / "ended", place)
    assert board(here / "ended") == want
