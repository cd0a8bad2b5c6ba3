"""A content-addressed store: atomic, checksummed, safe for many writers, in a folder or behind any fsspec URL.

An entry is one file, see `rag.execution.store.entry_format`. A local file is replaced as a whole; an object store's put is
atomic by itself. A damaged entry counts as absent: it is removed, and a warning is logged.
"""

import errno
import hashlib
import logging
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rag.config.servers import check_place
from rag.core.errors import StoreError
from rag.core.files import is_running, locked, replace_file
from rag.execution.store.entry_format import HEADER, Entry, decode, decode_meta, encode

__all__ = ["Entry", "Store"]

HEAD = 4096
"""Bytes that are read first when only the JSON of an entry is needed; most JSON fits into them."""
PLAIN = re.compile(r"[^~:\\]+")
"""A path that no file system of fsspec reads in another way."""
LOCKS = 256
TEMPORARY = re.compile(r"^\.(?P<host>.+)\.(?P<pid>\d+)\.\d+\.tmp$")
ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file of another machine may be deleted."""

log = logging.getLogger(__name__)
Content = TypeVar("Content")


class Store:
    """Entries under keys such as `stages/3f9a…`; the part before the slash is a space that can be listed."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.local = PLAIN.fullmatch(root) is not None
        self.base = os.path.join(os.getcwd(), *Path(root).parts)
        if not self.local:
            self.files, self.base = _opened(root)
            self.local = "file" in np.atleast_1d(self.files.protocol)

    @cached_property
    def files(self) -> Any:
        """The file system of fsspec. Its import takes .05 s, and most verbs only read and write a folder."""
        return _opened(self.base)[0]

    def path(self, key: str) -> str:
        """The file of a key; a folder by the first two characters of the name keeps folders small."""
        space, name = key.rsplit("/", 1)
        return f"{self.base}/{space}/{name[:2]}/{name}"

    def has(self, key: str) -> bool:
        """Whether there is an entry; only reading it shows whether it is damaged."""
        return os.path.exists(self.path(key)) if self.local else bool(self.files.exists(self.path(key)))

    def read(self, key: str) -> Entry | None:
        """The entry of a key; None where there is none, or where it was damaged: then it is removed."""
        return self._undamaged(key, lambda: decode(self._bytes(key)))

    def read_meta(self, key: str) -> dict[str, Any] | None:
        """The JSON of an entry without its arrays; None as in `read`."""
        return self._undamaged(key, lambda: self._meta(key))

    def _meta(self, key: str) -> dict[str, Any]:
        head = self._bytes(key, HEAD)
        header = HEADER.match(head)
        whole = header and header.end() + int(header["length"]) <= len(head)
        return decode_meta(head if whole else self._bytes(key))[1]

    def _bytes(self, key: str, most: int | None = None) -> bytes:
        try:
            if not self.local:
                data: bytes = self.files.cat_file(self.path(key), end=most)
                return data
            if not stat.S_ISREG(os.stat(self.path(key)).st_mode):
                raise OSError(errno.EINVAL, "it is not a file")  # reading a pipe would never end
            with open(self.path(key), "rb") as file:
                return file.read(-1 if most is None else most)
        except (FileNotFoundError, MemoryError):
            raise
        except Exception as error:
            # Every object store raises its own errors. An entry that cannot be reached is not damaged.
            what = f"cannot be read ({_reason(error)})"
            raise StoreError(self.path(key), what, "check the disk and its permissions, or the connection") from error

    def _undamaged(self, key: str, read: Callable[[], Content]) -> Content | None:
        try:
            return read()
        except FileNotFoundError:
            return None
        except (StoreError, MemoryError):
            raise
        except Exception as error:
            # A parser may raise any error for a damaged file.
            log.warning("store entry %s is damaged (%s): removed, it will be computed again", key, error)
            self.remove(key)
            return None

    def write(self, key: str, entry: Entry) -> None:
        """Write the entry of a key; a reader sees the old entry or the new one."""
        data, path = encode(entry), self.path(key)
        try:
            if self.local:
                replace_file(Path(path), data)
            else:
                self.files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
                self.files.pipe_file(path, data)
        except Exception as error:
            raise _unwritable(path, error) from error

    def remove(self, key: str) -> None:
        """Remove an entry; nothing happens where there is none."""
        try:
            self.files.rm_file(self.path(key))
        except FileNotFoundError:
            return
        except Exception as error:
            raise StoreError(self.path(key), f"cannot be removed ({_reason(error)})", "check its permissions") from error

    def keys(self, space: str) -> list[str]:
        """Every key of a space, sorted."""
        below = f"{self.base}/{space}"
        paths = [f"{at}/{name}" for at, _, held in os.walk(below) for name in held] if self.local else self.files.find(below)
        names = (path.rsplit("/", 1) for path in paths)
        places = ((folder[len(self.base) + 1 :].rsplit("/", 1)[0], name) for folder, name in names)
        return sorted(f"{place}/{name}" for place, name in places if not name.startswith("."))

    def size(self, key: str) -> int:
        """The size of an entry in bytes."""
        return int(self.files.size(self.path(key)))

    def touch(self, key: str) -> None:
        """Make an entry of a folder as new as one that is written now, if it can be changed: `written` is then its last use."""
        if self.local:
            with suppress(OSError):
                os.utime(self.path(key))

    def written(self, key: str) -> float:
        """The time at which an entry was written or touched, in seconds since 1970."""
        return float(self.files.modified(self.path(key)).timestamp())

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Lock a key against all other processes that share this folder; the lock ends with its process.

        Locks are a fixed set of files, so none is left over. Two keys of one space may share a lock: do not claim one inside a
        claim of the other. Behind a URL nothing is locked: two machines may compute the same entry and write the same bytes.
        """
        if not self.local:
            yield
            return
        number = int(hashlib.sha256(key.encode()).hexdigest(), 16) % LOCKS
        lock = Path(self.base) / "locks" / key.partition("/")[0] / f"{number:02x}"
        with ExitStack() as held:
            try:
                lock.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(lock))
            except OSError as error:
                raise _unlockable(lock, error) from error
            yield

    def clear_orphans(self) -> int:
        """Remove temporary files of processes that ended; return how many."""
        if not self.local:
            return 0
        orphans = [path for path in Path(self.base).rglob(".*.tmp") if _abandoned(path)]
        for path in orphans:
            with suppress(PermissionError):  # it only takes space
                path.unlink(missing_ok=True)
        return len(orphans)


def _opened(root: str) -> tuple[Any, str]:
    """The file system of a folder or URL, and the path in it; StoreError where it cannot be opened."""
    import fsspec

    if "::" in root or root.partition("://")[0] in fsspec.available_protocols():
        check_place("store", root)
    try:
        # Other processes write too: a cached listing would hide their entries.
        files, base = fsspec.core.url_to_fs(root, use_listings_cache=False)
    except Exception as error:
        # Every file system of fsspec raises its own errors.
        raise StoreError("store", f"{root!r} cannot be opened ({_reason(error)})", "set store=<folder or URL>") from error
    return files, str(base)


def _unwritable(path: str, error: Exception) -> StoreError:
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    what, remedy = (
        ("the disk is full", "make room") if full else (f"cannot be written ({_reason(error)})", "check its permissions")
    )
    return StoreError(path, what, f"{remedy}, or set store=<folder or URL>; then run again: it goes on here")


def _unlockable(lock: Path, error: OSError) -> StoreError:
    if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTSUP):
        return _unwritable(str(lock), error)
    remedy = "set store=<folder on a disk of this machine, or URL>, or turn on file locks for this drive"
    return StoreError(str(lock), f"cannot be locked ({_reason(error)}): this drive has no file locks", remedy)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _abandoned(path: Path) -> bool:
    match = TEMPORARY.match(path.name)
    if match is None:
        return False
    if match["host"] == socket.gethostname():
        return not is_running(int(match["pid"]))
    try:
        return time.time() - path.stat().st_mtime > ABANDONED_AFTER
    except FileNotFoundError:
        return False
