"""The files of a bundle, each as its manifest lists it, from a folder: nothing of them has been parsed but the manifest."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from rag.bundle.errors import refused
from rag.bundle.layout import MANIFEST, MODELS, SEAL, Limits, check_distinct, check_name, check_names
from rag.bundle.manifest import Manifest, read_manifest
from rag.core.errors import StoreError

BLOCK = 1 << 20
DEEPEST = 8
SPECIAL = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


@dataclass(frozen=True)
class Contents:
    """A bundle whose every byte is as its manifest has it.

    `files` are those that are read by us; whoever has parsed one takes it out, for it may be large. What lies below `models/`
    is read by libraries, from the folder `root`: a copy of our own, so that what they read is what was verified. `held` keeps
    it as long as this record lives.
    """

    manifest: Manifest
    files: dict[str, bytes]
    root: Path
    held: "TemporaryDirectory[str] | None" = None

    @property
    def digest(self) -> str:
        """The hash by which the bundle is known."""
        return hashlib.sha256(self.files[MANIFEST]).hexdigest()


def check_manifest(manifest: bytes, seal: bytes, where: str, limits: Limits) -> Manifest:
    """What a manifest says, if its seal fits and it may be that of a bundle."""
    known = read_manifest(manifest, seal, where)
    if inside := {MANIFEST, SEAL} & set(known.files):
        raise refused(where, f"lists {min(inside)} itself")
    check_names(f"{where}: {MANIFEST}", {name: listed.size for name, listed in known.files.items()}, limits)
    return known


def check_bytes(manifest: Manifest, name: str, found: str, where: str) -> None:
    """Raise BundleError where a sha256 is not the listed one."""
    if found != manifest.files[name].sha256:
        raise refused(f"{where}: {name}", f"has sha256 {found}, and {MANIFEST} says {manifest.files[name].sha256}")


def private(manifest: Manifest) -> "TemporaryDirectory[str] | None":
    """A folder that nobody else may read, for the models that a bundle has inside; None where it has none."""
    inside = any(name.startswith(MODELS) for name in manifest.files)
    return TemporaryDirectory(prefix="assay-bundle-") if inside else None


def take(blocks: Iterator[bytes], manifest: Manifest, name: str, where: str, room: Path | None) -> None:
    """Verify a file of a model that comes in blocks, and write it below `room`, where one is given; StoreError for no room."""
    total = hashlib.sha256()
    with _new(room / name) if room else nullcontext() as file:
        for block in blocks:
            total.update(block)
            if file:
                file.write(block)
    check_bytes(manifest, name, total.hexdigest(), where)


@contextmanager
def _new(path: Path) -> Iterator[BinaryIO]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            yield file
    except OSError as error:
        what = f"takes no copy of a model ({error.strerror})"
        raise StoreError(str(path.parent), what, "make room there, or set TMPDIR to a folder that has some") from error


def read_folder(folder: Path, limits: Limits, copied: bool = True) -> Contents:
    """The verified files of a folder.

    No link is followed, nothing but ordinary files is opened, and every file is read once: what is parsed later is what was
    verified. Files of models are copied on the way, unless told otherwise: then they are verified, and `root` is the folder.
    """
    where = str(folder)
    _check_single(folder)
    with _opened(folder) as root:
        sizes = dict(_listing(root, where, limits))
        for name in (MANIFEST, SEAL):
            if name not in sizes:
                raise refused(where, f"has no {name}", "name a folder or an archive that rag export wrote")
        files = {name: b"".join(_blocks(root, name, sizes[name], where)) for name in (MANIFEST, SEAL)}
        manifest = check_manifest(files[MANIFEST], files[SEAL], where, limits)
        _check_listing(manifest, sizes, where)
        held = private(manifest) if copied else None
        room = Path(held.name) if held else None
        for name in sorted(manifest.files):
            if name.startswith(MODELS):
                take(_blocks(root, name, sizes[name], where), manifest, name, where, room)
                continue
            # What is kept is read at one go: put together from blocks it would take its size twice.
            files[name] = b"".join(_blocks(root, name, sizes[name], where, sizes[name]))
            check_bytes(manifest, name, hashlib.sha256(files[name]).hexdigest(), where)
    return Contents(manifest, files, room or folder, held)


def _check_single(folder: Path) -> None:
    """BundleError for a folder of bundles."""
    inside = [] if (folder / MANIFEST).is_file() else sorted(str(path.parent) for path in folder.glob(f"*/{MANIFEST}"))
    if inside:
        raise refused(str(folder), "is no bundle, but holds some", f"name one of them: {', '.join(inside[:5])}")


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise refused(str(folder), f"cannot be read: {error.strerror}", "name a bundle: a folder, or a .tar.zst") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _listing(folder: int, where: str, limits: Limits) -> Iterator[tuple[str, int]]:
    """The files below a folder with their sizes; BundleError for everything that no bundle has, before anything is read."""
    seen = []
    for name, status in _walk(folder, "", where):
        seen.append(name)
        if len(seen) > limits.files + 2:
            raise refused(where, f"holds more than {limits.files:,} files", "name the folder of one bundle")
        if kind := SPECIAL.get(stat.S_IFMT(status.st_mode)):
            raise refused(f"{where}: {name}", f"is {kind}", "a bundle is made of ordinary files")
        if status.st_size > check_name(where, name):
            raise refused(
                f"{where}: {name}", f"has {status.st_size:,} bytes", f"such a file has at most {check_name(where, name):,}"
            )
        if status.st_nlink > 1:
            raise refused(f"{where}: {name}", "has another name elsewhere (a hard link)", "copy the folder: cp -r")
        yield name, status.st_size
    check_distinct(where, seen)


def _walk(folder: int, prefix: str, where: str) -> Iterator[tuple[str, os.stat_result]]:
    if prefix.count("/") > DEEPEST:
        raise refused(f"{where}: {prefix}", f"lies deeper than {DEEPEST} folders")
    with os.scandir(folder) as entries:
        for entry in entries:
            name, status = f"{prefix}{entry.name}", entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                yield name, status
                continue
            inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                yield from _walk(inner, f"{name}/", where)
            finally:
                os.close(inner)


def _check_listing(manifest: Manifest, sizes: Mapping[str, int], where: str) -> None:
    for name in sorted(set(sizes) - set(manifest.files) - {MANIFEST, SEAL}):
        raise refused(f"{where}: {name}", f"is not listed in {MANIFEST}", "take it out: a bundle is sealed as a whole")
    for name, listed in sorted(manifest.files.items()):
        if name not in sizes:
            raise refused(f"{where}: {name}", f"is listed in {MANIFEST}, and missing")
        if sizes[name] != listed.size:
            raise refused(f"{where}: {name}", f"has {sizes[name]:,} bytes, and {MANIFEST} says {listed.size:,}")


def _blocks(root: int, name: str, size: int, where: str, most: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file that was looked at before; BundleError where it has become something else since."""
    folder, parts = os.dup(root), name.split("/")
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        # A pipe that took the place of the file would keep an ordinary `open` waiting.
        descriptor = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise refused(f"{where}: {name}", f"cannot be read: {error.strerror}", "check its permissions") from error
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        status, left = os.fstat(descriptor), size
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            raise refused(f"{where}: {name}", "changes while it is read", "copy the bundle, and open the copy")
        while left and (block := file.read(min(most, left))):
            left -= len(block)
            yield block
        if left:
            raise refused(f"{where}: {name}", "changes while it is read", "copy the bundle, and open the copy")
