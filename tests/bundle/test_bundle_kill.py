"""Whatever kills an export, on its way or at its last step: a bundle is there whole, or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.swept_trial import sweep

from rag.bundle import atomic
from rag.bundle.archive import pack
from rag.bundle.atomic import appearing
from rag.bundle.open_bundle import open_bundle
from rag.bundle.seal import content_of, export, packed, written
from rag.bundle.source_trial import measured, resolve_trial
from rag.core.errors import StoreError

MOMENTS, STEPS = 50, 40

NURSERY = """
# Exports again and again, each time in a child of its own that is killed: at a random moment, or before its n-th step.
import os, random, signal, sys, time
from pathlib import Path
from rag.bundle.archive import pack
from rag.bundle.source_trial import measured, named
from rag.bundle.seal import content_of, written

what, out, moments, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
content = content_of(measured(named(what)[1], what))

def work(name, before):
    before()
    sealed = written(content, out / name)
    pack(sealed.path, out / f"{name}.tar.zst")

def child(name, before=lambda: None, wait=None):
    number = os.fork()
    if number == 0:
        work(name, before)
        os._exit(0)
    if wait is not None:
        time.sleep(wait)
        os.kill(number, signal.SIGKILL)
    return os.waitpid(number, 0)[1]

FILES = ("open", "os.rename", "os.mkdir", "os.listdir", "os.scandir", "shutil.copyfile")
def counting(most, seen):
    def hook(event, arguments):
        if event in FILES:
            seen.append(event)
            if len(seen) == most:
                os.kill(os.getpid(), signal.SIGKILL)
    return lambda: sys.addaudithook(hook)

assert child("whole") == 0
began = time.perf_counter()
assert child("again") == 0
took = time.perf_counter() - began
chance = random.Random(5)
for number in range(moments):
    child(f"moment-{number}", wait=chance.uniform(0, took))
print(sum(child(f"step-{number}", counting(number + 1, [])) != 0 for number in range(steps)))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("swept"), "  k: k=2")


@pytest.fixture
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def test_no_kill_leaves_half_a_bundle(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [sys.executable, "-c", NURSERY, "small", str(out), str(MOMENTS), str(STEPS)]
    done = subprocess.run(arguments, cwd=place, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == STEPS
    whole = open_bundle(out / "whole")
    names = [
        "whole",
        "again",
        *(f"moment-{number}" for number in range(MOMENTS)),
        *(f"step-{number}" for number in range(STEPS)),
    ]
    there = [path for name in names for path in (out / name, out / f"{name}.tar.zst") if path.exists()]
    for path in there:
        assert open_bundle(path).digest == whole.digest, path
    # Killed on their way, most were not there yet; what they left behind says so by its name.
    assert len(there) < 2 * len(names)
    rest = {path.name for path in out.iterdir()} - {path.name for path in there}
    assert all(name.startswith(".") and name.endswith(".part") for name in rest)
    assert {".tar.zst." in name for name in rest} == {False, True}


def test_what_the_dead_left_behind_is_cleared_by_the_next(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        (tmp_path / name / "config.yaml").write_text("half", "utf-8")
    packed(export("small", tmp_path / "b"))
    assert {name: (tmp_path / name).exists() for name in names} == names


class Full:
    """A disk that is full from the n-th file on."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, number: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_full_disk_leaves_nothing_and_is_told(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    content = content_of(measured(*reversed(resolve_trial("small"))))
    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", Full(after))
        with pytest.raises(StoreError, match="does not fit on the disk"):
            written(content, tmp_path / "out" / "b")
    assert list((tmp_path / "out").iterdir()) == []
    assert written(content, tmp_path / "out" / "b").written


def test_a_folder_that_cannot_be_written_is_told(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StoreError, match="--to PATH"):
        export("small", tmp_path / "file" / "b")


def test_who_comes_second_does_not_overwrite(tmp_path: Path) -> None:
    def fill(place: Path, text: str) -> None:
        place.mkdir()
        (place / "file").write_text(text, "utf-8")

    def both() -> None:
        with appearing(tmp_path / "b") as first:
            fill(first, "first")
            with appearing(tmp_path / "b") as second:
                fill(second, "second")

    with pytest.raises(StoreError, match="is there already"):
        both()
    assert (tmp_path / "b" / "file").read_text("utf-8") == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]


def test_an_error_within_leaves_nothing(tmp_path: Path) -> None:
    def stopped() -> None:
        with appearing(tmp_path / "deep" / "b") as place:
            place.mkdir()
            (place / "file").write_text("half", "utf-8")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stopped()
    assert list((tmp_path / "deep").iterdir()) == []


def test_the_archive_comes_whole_too(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = export("small", tmp_path / "b")

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", dies)
        with pytest.raises(KeyboardInterrupt):
            pack(sealed.path, tmp_path / "b.tar.zst")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
