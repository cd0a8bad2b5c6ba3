"""Atomic writes, file locks, processes that still run, and the folders that are installed with Assay."""

import logging
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag.core.errors import StoreError

PATIENCE = 30.0
"""Seconds of waiting for a lock before a warning is logged."""
log = logging.getLogger(__name__)


def replace_text(path: Path, text: str, errors: str = "strict") -> None:
    """Write a text in UTF-8 as `replace_file` does; `errors` is that of `str.encode`.

    OSError if it cannot be written, UnicodeEncodeError for what UTF-8 cannot hold: the old file then stays as it was.
    """
    replace_file(path, text.encode("utf-8", errors))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file and sync it, so that a reader sees the old one or the new one; create its folder.

    OSError if it cannot be written. The folder is not synced: after a power cut the old file may be there again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{socket.gethostname()}.{os.getpid()}.{uuid.uuid4().int}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None  # the name of the temporary file says nothing
        raise


@contextmanager
def writing(place: Path, remedy: str) -> Iterator[None]:
    """Turn errors of the file system at a place into StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(str(place), f"cannot be written ({error.strerror or error})", remedy) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file against all other processes; the lock ends with the process that holds it.

    OSError if the file cannot be locked, as on some network drives. Other drives behave as if it were locked for ever, so a
    long wait is logged.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, fallback_to_soft=False)  # a soft lock outlives its holder
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        log.warning("%s: waiting for a lock: another process holds it, or this drive has no locks", path)
        lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):  # the work under the lock is done
            lock.release()


def is_running(pid: int) -> bool:
    """True if the process exists on this machine, under any owner. Files left by dead processes may be deleted."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's process, or not a process id
        return True
    return True


def shipped(folder: str) -> Path:
    """A folder that is installed with Assay, such as `conf`, `experiments` or `datasets/handbook`."""
    package = Path(__file__).parents[1]
    inside = package / "_shipped" / folder
    return inside if inside.is_dir() else package.parent / folder
