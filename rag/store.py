"""A content-addressed store: atomic, checksummed, safe for many writers, in a folder or behind any fsspec URL.

An entry is one file: a line `assay 1 <sha256 of the rest>`, then an uncompressed npz of plain arrays, one of which holds
JSON. Nothing in it can carry code. A local write goes to a temporary name in the same folder, is synced, then renamed; an
object store's put is atomic by itself. What cannot be read back as it was written counts as absent, is removed, and is told.
"""

import errno
import hashlib
import io
import json
import logging
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
from filelock import FileLock

from rag.errors import StoreError
from rag.records import Arrays

MAGIC = b"assay 1 "
HEADER = len(MAGIC) + 64 + 1
LOCKS = 256
TEMPORARY = re.compile(r"^\.(?P<host>.+)\.(?P<pid>\d+)\.\d+\.tmp$")
ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file of another machine counts as left behind."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """What a key stands for: named arrays, and a JSON object beside them."""

    arrays: Arrays = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


def encode(entry: Entry) -> bytes:
    """An entry as bytes, checksum first."""
    buffer = io.BytesIO()
    meta = np.frombuffer(json.dumps(entry.meta, sort_keys=True, allow_nan=False).encode(), np.uint8)
    np.savez(buffer, allow_pickle=False, **{"": meta}, **entry.arrays)
    payload = buffer.getbuffer()
    return MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def decode(data: bytes) -> Entry:
    """The entry that `encode` made these bytes of; ValueError when a byte differs."""
    payload = memoryview(data)[HEADER:]
    if data[: len(MAGIC)] != MAGIC or hashlib.sha256(payload).hexdigest().encode() != data[len(MAGIC) : HEADER - 1]:
        raise ValueError("checksum")
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return Entry(arrays, json.loads(arrays.pop("").tobytes()))


class Store:
    """Entries under keys such as `stages/3f9a…`; the part before the slash is a space that can be listed."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files, self.base = fsspec.core.url_to_fs(root)
        self.local = "file" in np.atleast_1d(self.files.protocol)
        self._written = 0

    def path(self, key: str) -> str:
        """Where a key's entry lies; two more characters of the hash keep folders small."""
        space, name = key.rsplit("/", 1)
        return f"{self.base}/{space}/{name[:2]}/{name}"

    def has(self, key: str) -> bool:
        """Whether an entry is there; only reading it proves that it is sound."""
        return os.path.exists(self.path(key)) if self.local else bool(self.files.exists(self.path(key)))

    def read(self, key: str) -> Entry | None:
        """The entry under a key; None when there is none, or when it was damaged and has now been removed."""
        path = self.path(key)
        try:
            data = Path(path).read_bytes() if self.local else self.files.cat_file(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(
                path, f"cannot be read ({error.strerror or error})", "check the disk and its permissions"
            ) from error
        try:
            return decode(data)
        except Exception as error:  # Whatever a damaged file makes a parser say, it is damage.
            log.warning("store entry %s is damaged (%s): removed, it will be computed again", key, error)
            self.remove(key)
            return None

    def write(self, key: str, entry: Entry) -> None:
        """Put an entry under a key; a reader sees the whole of it or nothing."""
        data, path = encode(entry), self.path(key)
        if not self.local:
            self.files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            self.files.pipe_file(path, data)
            return
        try:
            self._write_local(Path(path), data)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            what = "the disk is full" if full else f"cannot be written ({error.strerror})"
            raise StoreError(path, what, "make room, or set store=<folder or URL>; then run again: it goes on here") from error

    def _write_local(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._written += 1
        temporary = path.parent / f".{socket.gethostname()}.{os.getpid()}.{self._written}.tmp"
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self, key: str) -> None:
        """Take an entry away; gone already is as good."""
        try:
            self.files.rm_file(self.path(key))
        except FileNotFoundError:
            return

    def keys(self, space: str) -> list[str]:
        """Every key of a space, sorted."""
        found = self.files.find(f"{self.base}/{space}")
        names = (path.rsplit("/", 1) for path in found)
        places = ((folder[len(self.base) + 1 :].rsplit("/", 1)[0], name) for folder, name in names)
        return sorted(f"{place}/{name}" for place, name in places if not name.startswith("."))

    def size(self, key: str) -> int:
        """Bytes that an entry takes."""
        return int(self.files.size(self.path(key)))

    def written(self, key: str) -> float:
        """When an entry was written, in seconds since 1970."""
        return float(self.files.modified(self.path(key)).timestamp())

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Hold a key against every other process of the machines that share this folder; the death of a holder frees it.

        Locks are few and fixed, so none is ever left over. Behind a URL there is nothing to lock: two machines may then
        compute the same entry, and both write the same bytes.
        """
        if not self.local:
            yield
            return
        number = int(hashlib.sha256(key.encode()).hexdigest(), 16) % LOCKS
        folder = Path(self.base) / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{number:02x}"):
            yield

    def clear_orphans(self) -> int:
        """Remove temporary files whose writer is dead; return how many."""
        if not self.local:
            return 0
        orphans = [path for path in Path(self.base).rglob(".*.tmp") if _abandoned(path)]
        for path in orphans:
            path.unlink(missing_ok=True)
        return len(orphans)


def _abandoned(path: Path) -> bool:
    match = TEMPORARY.match(path.name)
    if match is None:
        return False
    if match["host"] == socket.gethostname():
        return not _alive(int(match["pid"]))
    try:
        return time.time() - path.stat().st_mtime > ABANDONED_AFTER
    except FileNotFoundError:
        return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
