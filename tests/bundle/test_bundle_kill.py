"""A bundle exists completely or not at all, even if the export is killed or the disk is full."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.swept_trial import swept

from rag.bundle import atomic
from rag.bundle.atomic import appearing
from rag.bundle.open_bundle import read
from rag.bundle.seal import content_of, export, packed, written
from rag.bundle.source_trial import measured, resolve_trial
from rag.core.errors import StoreError

NURSERY = """
# Writes a bundle and its archive in child processes; each is killed before another one of its steps.
import json, os, signal, sys
from pathlib import Path
from rag.bundle.archive import pack
from rag.bundle.source_trial import measured, resolve_trial
from rag.bundle.seal import content_of, written

out = Path(sys.argv[1])
content = content_of(measured(resolve_trial("small")[1], "small"))
EVENTS = ("open", "os.rename", "os.mkdir", "os.listdir", "os.scandir", "shutil.copyfile")

def work(name):
    sealed = written(content, out / name)
    pack(sealed.path, out / f"{name}.tar.zst")

def child(name, last=0):
    number = os.fork()
    if number == 0:
        steps = []
        def hook(event, arguments):
            if event in EVENTS:
                steps.append(event)
                if len(steps) == last:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        work(name)
        text = json.dumps(steps)
        (out.parent / "steps.json").write_text(text)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(number, 0)[1]) == bool(last)

work("first")  # imports what the children need
child("whole")
events = json.loads((out.parent / "steps.json").read_text())
renames = [step for step, event in enumerate(events, 1) if event == "os.rename"]
for step in sorted({*range(1, len(events) + 1, 6), *renames}):
    child(f"step-{step}", step)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("swept"), "  k: k=2")


def test_a_kill_at_any_step_leaves_a_whole_bundle_or_none(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", NURSERY, str(out)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "steps.json").read_text("utf-8"))
    folder_step, archive_step = (step for step, event in enumerate(events, 1) if event == "os.rename")
    steps = sorted({*range(1, len(events) + 1, 6), folder_step, archive_step})
    digest = read(out / "whole").digest
    for step in steps:
        folder, archive = out / f"step-{step}", out / f"step-{step}.tar.zst"
        assert (folder.exists(), archive.exists()) == (step > folder_step, step > archive_step)
        assert {read(path).digest for path in (folder, archive) if path.exists()} <= {digest}, step
    rest = [path.name for path in out.iterdir() if path.name.startswith(".")]
    assert all(name.endswith(".part") for name in rest)
    for step, name in ((folder_step, f".step-{folder_step}."), (archive_step, f".step-{archive_step}.tar.zst.")):
        assert any(left.startswith(name) for left in rest), step


def test_leftovers_of_dead_writers_of_a_bundle_are_removed(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = atomic.socket.gethostname().replace(".", "-")
    names = {
        f".b.{host}.{dead.pid}.{'0' * 32}.part": False,
        f".b.{host}.{os.getpid()}.{'0' * 32}.part": True,
        f".b.elsewhere.{dead.pid}.{'0' * 32}.part": True,
        f".other.{host}.{dead.pid}.{'0' * 32}.part": True,
        f".b.tar.zst.{host}.{dead.pid}.{'0' * 32}.part": False,
    }
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("half", "utf-8")
    packed(export("small", tmp_path / "b"))
    assert {name: (tmp_path / name).exists() for name in names} == names


class Full:
    """A disk that is full after `after` files."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, number: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_full_disk_is_reported_and_leaves_nothing(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    content = content_of(measured(*reversed(resolve_trial("small"))))
    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", Full(after))
        with pytest.raises(StoreError, match="does not fit on the disk"):
            written(content, tmp_path / "out" / "b")
    assert list((tmp_path / "out").iterdir()) == []
    assert written(content, tmp_path / "out" / "b").written


def test_of_two_writers_the_second_does_not_overwrite(tmp_path: Path) -> None:
    def fill(place: Path, text: str) -> None:
        place.mkdir()
        (place / "file").write_text(text, "utf-8")

    def both() -> None:
        with appearing(tmp_path / "b") as first:
            fill(first, "first")
            with appearing(tmp_path / "b") as second:
                fill(second, "second")

    with pytest.raises(StoreError, match="already exists"):
        both()
    assert (tmp_path / "b" / "file").read_text("utf-8") == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]
