"""Write files and folders that exist completely or not at all, even if the writer is killed."""

import errno
import os
import re
import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag.core.errors import StoreError
from rag.core.files import is_running

UNFINISHED = re.compile(r"\.(?P<name>.+)\.(?P<host>[^.]+)\.(?P<pid>\d+)\.[0-9a-f]{32}\.part")


@contextmanager
def appearing(target: Path, instead: bool = False) -> Iterator[Path]:
    """A temporary path next to `target`, for a file or a folder; at the end it is synced and renamed to `target`.

    After an error it is removed. StoreError if it cannot be written, or if `target` exists by then and is not to be replaced
    (`instead`). Leftovers of killed writers of the same target are removed first.
    """
    target = target.absolute()
    host = socket.gethostname().replace(".", "-")
    unfinished = target.parent / f".{target.name}.{host}.{os.getpid()}.{uuid.uuid4().hex}.part"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target, host)
        yield unfinished
        _sync(unfinished)
        if target.exists() and not instead:
            raise StoreError(str(target), "already exists", "remove it, or write to another place: --to PATH")
        unfinished.rename(target)
        _sync_folder(target.parent)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "does not fit on the disk" if full else f"cannot be written ({error.strerror or error})"
        raise StoreError(str(target), what, "fix that, or write to another place: --to PATH") from error
    finally:
        _remove(unfinished)


def _sweep(target: Path, host: str) -> None:
    for path in target.parent.glob(".*.part"):
        parts = UNFINISHED.fullmatch(path.name)
        if parts and parts["name"] == target.name and parts["host"] == host and not is_running(int(parts["pid"])):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Write a file, or a folder with its content, to the disk."""
    folders = [path, *(inner for inner in path.rglob("*") if inner.is_dir())] if path.is_dir() else []
    for file in [inner for folder in folders for inner in folder.iterdir() if inner.is_file()] or [path] * (not folders):
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())
    for folder in reversed(folders):
        _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
