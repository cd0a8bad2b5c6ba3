"""A bundle as one file: a tar of plain members, compressed with zstd, and behind it a frame with the sha256 of all before.

Zstandard skips such a frame (RFC 8878, 3.1.2), so `tar --zstd -x` opens the archive too.
"""

import hashlib
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

import zstandard

from rag.bundle.atomic import appearing
from rag.bundle.errors import refused
from rag.bundle.files import BLOCK, Contents, check_bytes, check_manifest, private, read_folder, take
from rag.bundle.layout import LIMITS, MANIFEST, MODELS, SEAL, Limits, check_name

SUFFIX = ".tar.zst"
FRAME = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")
"""A skippable frame of 32 bytes."""
TAIL = len(FRAME) + 32
RECORD = tarfile.BLOCKSIZE
LEVEL = 6
WINDOW = 1 << 23
"""The most memory that decompressing takes, in bytes: what the level writes."""
KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.DIRTYPE: "a folder",
}


class Source(Protocol):
    """What can be read."""

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end."""
        ...


def pack(folder: Path, target: Path, limits: Limits = LIMITS) -> None:
    """Write a bundle's folder as one file, replacing what is there at once.

    BundleError for a folder that is no bundle, StoreError for a file that cannot be written.
    The same bundle gives the same bytes with the same version of zstandard.
    """
    with appearing(target, instead=True) as temporary:
        found = read_folder(folder, limits)
        with temporary.open("w+b") as file:
            compressor = zstandard.ZstdCompressor(LEVEL, write_checksum=True, write_content_size=False)
            with compressor.stream_writer(file, closefd=False) as stream:
                for name in (MANIFEST, SEAL, *sorted(found.manifest.files)):
                    _add(stream, name, found.files.get(name, found.root / name))
                stream.write(bytes(2 * RECORD))
            file.seek(0)
            file.write(FRAME + _digest(file, file.seek(0, os.SEEK_END)))


def _add(stream: IO[bytes], name: str, content: bytes | Path) -> None:
    size = content.stat().st_size if isinstance(content, Path) else len(content)
    stream.write(header(name, size))
    if isinstance(content, Path):
        with content.open("rb") as file:
            while block := file.read(BLOCK):
                stream.write(block)
    else:
        stream.write(content)
    stream.write(bytes(-size % RECORD))


def header(name: str, size: int) -> bytes:
    """The one way in which a file is announced: mode 644, nobody's, of no time; ValueError for a name that does not fit."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def _digest(file: IO[bytes], size: int) -> bytes:
    """sha256 of the first `size` bytes; the file is then read up to there."""
    total = hashlib.sha256()
    file.seek(0)
    while size and (block := file.read(min(BLOCK, size))):
        total.update(block)
        size -= len(block)
    return total.digest()


def read_archive(path: Path, limits: Limits) -> Contents:
    """The verified files of an archive; those of models are written into a folder that nobody else may read."""
    where = str(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise refused(where, f"cannot be read: {error.strerror}", "name a bundle: a folder, or a .tar.zst") from error
    with file:
        size = os.fstat(file.fileno()).st_size - TAIL
        if size > limits.total:
            raise refused(where, f"has {size:,} bytes", f"a bundle has at most {limits.total:,}")
        file.seek(max(size, 0))
        tail = file.read(TAIL)
        if size < 0 or tail[: len(FRAME)] != FRAME or tail[len(FRAME) :] != _digest(file, size):
            raise refused(where, "does not end with the sha256 of what it holds: it is cut off, damaged, or no bundle")
        file.seek(0)
        with zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(file, closefd=False) as stream:
            return _members(stream, where, limits)


def _members(stream: Source, where: str, limits: Limits) -> Contents:
    files = {name: b"".join(_member(stream, name, None, where)) for name in (MANIFEST, SEAL)}
    manifest = check_manifest(files[MANIFEST], files[SEAL], where, limits)
    root = private(manifest)
    for name, listed in sorted(manifest.files.items()):
        blocks = _member(stream, name, listed.size, where)
        if root and name.startswith(MODELS):
            take(blocks, manifest, name, where, Path(root.name))
        else:
            files[name] = b"".join(blocks)
            check_bytes(manifest, name, hashlib.sha256(files[name]).hexdigest(), where)
    if any(_exactly(stream, 2 * RECORD, where)) or _read(stream, 1, where):
        raise refused(where, f"holds more than {MANIFEST} lists")
    return Contents(manifest, files, Path(root.name) if root else Path(where), root)


def _member(stream: Source, name: str, size: int | None, where: str) -> Iterator[bytes]:
    """The blocks of the next file, which must be this one; of a size that is not known yet where that is None."""
    announced = _exactly(stream, RECORD, where)
    if size is None:
        size = _size(announced, name, where)
    if announced != header(name, size):
        raise refused(where, f"has {_found(announced)} where {name!r} of {size:,} bytes belongs")
    left = size
    while left:
        block = _exactly(stream, min(BLOCK, left), where)
        left -= len(block)
        yield block
    if any(_exactly(stream, -size % RECORD, where)):
        raise refused(f"{where}: {name}", "is followed by bytes that belong to no file")


def _size(announced: bytes, name: str, where: str) -> int:
    try:
        size = tarfile.TarInfo.frombuf(announced, "ascii", "strict").size
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise refused(where, f"is no tar: {error}") from error
    if not 0 <= size <= check_name(where, name):
        raise refused(where, f"{name} has {size:,} bytes", f"such a file has at most {check_name(where, name):,}")
    return size


def _found(announced: bytes) -> str:
    """What a header announces, for a person."""
    try:
        member = tarfile.TarInfo.frombuf(announced, "utf-8", "backslashreplace")
    except tarfile.HeaderError as error:
        return f"no header of a file ({error})"
    kind = KINDS.get(member.type, "a file" if member.type == tarfile.REGTYPE else f"a member of type {member.type!r}")
    return f"{kind} named {member.name[:100]!r} of {member.size:,} bytes"


def _exactly(stream: Source, size: int, where: str) -> bytes:
    found = b""
    while len(found) < size and (part := _read(stream, size - len(found), where)):
        found += part
    if len(found) < size:
        raise refused(where, "ends within a file")
    return found


def _read(stream: Source, size: int, where: str) -> bytes:
    try:
        return stream.read(size)
    except zstandard.ZstdError as error:
        raise refused(where, f"cannot be decompressed: {error}") from error
