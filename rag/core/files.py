"""Files that people keep, written so that a reader sees the old one or the new one, and folders that came with us."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE = 30.0
"""Seconds after which it is said that a lock is waited for."""
log = logging.getLogger(__name__)


def replace_text(path: Path, text: str, errors: str = "strict") -> None:
    """Write a text in UTF-8 and sync it, its folder made where there is none; `errors` is that of `open`.

    OSError where that cannot be, UnicodeEncodeError for what UTF-8 cannot hold: the old file then stands as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors=errors) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file against all other processes that lock it; the death of a holder frees it.

    OSError where it cannot be locked, as on some network drives. Others answer as if it were held: so a long wait is said.
    """
    lock = FileLock(path, fallback_to_soft=False)  # a soft lock outlives its holder
    try:
        lock.acquire(timeout=PATIENCE)
    except Timeout:
        log.warning("%s: waiting for a lock: another process holds it, or this drive has no locks", path)
        lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):  # what was done under the lock is done
            lock.release()


def is_running(pid: int) -> bool:
    """Whether a process of this machine lives, whoever's it is: what a dead one left unfinished can go."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's, or a number that nothing can be said of
        return True
    return True


def shipped(folder: str) -> Path:
    """A folder such as `conf`, `experiments` or `datasets/handbook` as it came with this installation."""
    package = Path(__file__).parents[1]
    inside = package / "_shipped" / folder
    return inside if inside.is_dir() else package.parent / folder
