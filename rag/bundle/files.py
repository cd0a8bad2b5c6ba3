"""Read and verify the files of a bundle: each must be as its manifest lists it, and only the manifest is parsed here."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from rag.bundle import layout
from rag.bundle.errors import refused
from rag.bundle.layout import MANIFEST, MODELS, SEAL, check_distinct, check_size
from rag.bundle.manifest import Manifest, read_manifest
from rag.core.errors import StoreError

BLOCK = 1 << 20
DEEPEST = 8
Blocks = Callable[[str, int], Iterator[bytes]]
"""Reads a file, by its name and listed size in bytes."""


@dataclass(frozen=True)
class Contents:
    """The verified files of a bundle.

    `files` are the bytes of all but the models; a reader that has parsed a large one removes it. Libraries read models from
    the folder `root`: a private copy, so that they read the bytes that were verified. `held` keeps it as long as this record.
    """

    manifest: Manifest
    files: dict[str, bytes]
    root: Path
    held: "TemporaryDirectory[str] | None" = None

    @property
    def digest(self) -> str:
        """The hash of the bundle."""
        return hashlib.sha256(self.files[MANIFEST]).hexdigest()


def verified(manifest: Manifest, head: dict[str, bytes], path: Path, blocks: Blocks, copied: bool = True) -> Contents:
    """Read every listed file once, in the order of names; BundleError for one with another sha256.

    Models are copied to a folder that only this user may read, unless `copied` is false: then `root` is `path`. StoreError if
    there is no room for the copy.
    """
    has_models = any(name.startswith(MODELS) for name in manifest.files)
    held = TemporaryDirectory(prefix="assay-bundle-") if has_models and copied else None
    files = dict(head)
    for name, listed in sorted(manifest.files.items()):
        digest, kept = hashlib.sha256(), []
        is_model = name.startswith(MODELS)
        with _new(Path(held.name) / name) if is_model and held else nullcontext() as copy:
            for block in blocks(name, listed.size):
                digest.update(block)
                if copy:
                    copy.write(block)
                elif not is_model:
                    kept.append(block)
        if digest.hexdigest() != listed.sha256:
            what = f"has sha256 {digest.hexdigest()}, and {MANIFEST} says {listed.sha256}"
            raise refused(f"{path}: {name}", what)
        if not is_model:
            files[name] = kept[0] if len(kept) == 1 else b"".join(kept)
    return Contents(manifest, files, Path(held.name) if held else path, held)


@contextmanager
def _new(path: Path) -> Iterator[BinaryIO]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            yield file
    except OSError as error:
        what = f"takes no copy of a model ({error.strerror})"
        raise StoreError(str(path.parent), what, "free some space, or set TMPDIR to a folder that has some") from error


def read_folder(folder: Path, copied: bool = True) -> Contents:
    """The verified files of a folder; BundleError as in `verified`, and for links and other special files.

    Links are not followed, only ordinary files are opened, and every file is read once.
    """
    where = str(folder)
    inside = [] if (folder / MANIFEST).is_file() else sorted(str(path.parent) for path in folder.glob(f"*/{MANIFEST}"))
    if inside:
        raise refused(where, "is not a bundle, but holds some", f"name one of them: {', '.join(inside[:5])}")
    with _opened(folder) as root:
        sizes = dict(_listing(root, where))
        for name in (MANIFEST, SEAL):
            if name not in sizes:
                raise refused(where, f"has no {name}", "name a folder or an archive that rag export wrote")
        head = {name: b"".join(_blocks(root, name, sizes[name], where)) for name in (MANIFEST, SEAL)}
        manifest = read_manifest(head, where)
        _check_listing(manifest, sizes, where)
        return verified(manifest, head, folder, lambda name, size: _blocks(root, name, size, where), copied)


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


def _listing(folder: int, where: str) -> Iterator[tuple[str, int]]:
    """The files below a folder with their sizes in bytes; BundleError for files that a bundle does not have."""
    seen = []
    for name, status in _walk(folder, "", where):
        seen.append(name)
        if len(seen) > layout.MOST_FILES + 2:
            raise refused(where, f"holds more than {layout.MOST_FILES:,} files", "name the folder of one bundle")
        if not stat.S_ISREG(status.st_mode):
            raise refused(f"{where}: {name}", "is a link, a pipe or a device", "a bundle is made of ordinary files")
        check_size(where, name, status.st_size)
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
        raise refused(f"{where}: {name}", f"is not listed in {MANIFEST}", "remove it: a bundle is sealed as a whole")
    for name, listed in sorted(manifest.files.items()):
        if name not in sizes:
            raise refused(f"{where}: {name}", f"is listed in {MANIFEST}, and missing")
        if sizes[name] != listed.size:
            raise refused(f"{where}: {name}", f"has {sizes[name]:,} bytes, and {MANIFEST} says {listed.size:,}")


def _blocks(root: int, name: str, size: int, where: str) -> Iterator[bytes]:
    """The bytes of a file that was listed before; BundleError if it has changed since. Only models come in several blocks."""
    folder, parts = os.dup(root), name.split("/")
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Without O_NONBLOCK, opening a pipe that took the place of the file would wait for a writer.
        descriptor = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise refused(f"{where}: {name}", f"cannot be read: {error.strerror}", "check its permissions") from error
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        status, left = os.fstat(descriptor), size
        if stat.S_ISREG(status.st_mode) and status.st_size == size:
            while left and (block := file.read(min(BLOCK, left) if name.startswith(MODELS) else left)):
                left -= len(block)
                yield block
            if not left:
                return
        raise refused(f"{where}: {name}", "changes while it is read", "copy the bundle, and open the copy")
