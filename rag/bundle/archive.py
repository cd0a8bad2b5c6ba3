"""A bundle as one file: a tar of ordinary files, compressed with zstd, and after it a frame with the sha256 of all before.

Zstandard skips such a frame (RFC 8878, 3.1.2), so `tar --zstd -x` opens the archive too.
"""

import hashlib
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

import zstandard

from rag.bundle import layout
from rag.bundle.atomic import appearing
from rag.bundle.errors import refused
from rag.bundle.files import BLOCK, Contents, read_folder, verified
from rag.bundle.layout import MANIFEST, SEAL, check_size
from rag.bundle.manifest import read_manifest

SUFFIX = ".tar.zst"
FRAME = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")
"""Beginning of a skippable frame of 32 bytes."""
TAIL = len(FRAME) + 32
RECORD = tarfile.BLOCKSIZE
LEVEL = 6
WINDOW = 1 << 23
"""Most memory that decompression may take, in bytes: what `LEVEL` needs."""
KINDS = {
    tarfile.REGTYPE: "a file",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.DIRTYPE: "a folder",
}


class Source(Protocol):
    """A stream of bytes."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


def pack(folder: Path, target: Path) -> None:
    """Write the folder of a bundle as one file, which replaces an older one at once.

    BundleError for a folder that is not a bundle, StoreError for a file that cannot be written. The same bundle gives the same
    bytes with the same version of zstandard.
    """
    with appearing(target, instead=True) as temporary:
        contents = read_folder(folder)
        with temporary.open("w+b") as file:
            compressor = zstandard.ZstdCompressor(LEVEL, write_checksum=True, write_content_size=False)
            with compressor.stream_writer(file, closefd=False) as stream:
                for name in (MANIFEST, SEAL, *sorted(contents.manifest.files)):
                    _add(stream, name, contents.files.get(name, contents.root / name))
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
    """The only tar header of a file that is written or read: mode 644, no owner, no time; ValueError for a name too long."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def _digest(file: IO[bytes], size: int) -> bytes:
    """sha256 of the first `size` bytes; the file is then at that position."""
    total = hashlib.sha256()
    file.seek(0)
    while size and (block := file.read(min(BLOCK, size))):
        total.update(block)
        size -= len(block)
    return total.digest()


def read_archive(path: Path) -> Contents:
    """The verified files of an archive; models are written to a folder that only this user may read."""
    where = str(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise refused(where, f"cannot be read: {error.strerror}", "name a bundle: a folder, or a .tar.zst") from error
    with file:
        size = os.fstat(file.fileno()).st_size - TAIL
        if size > layout.MOST_BYTES:
            raise refused(where, f"has {size:,} bytes", f"a bundle has at most {layout.MOST_BYTES:,}")
        file.seek(max(size, 0))
        tail = file.read(TAIL)
        if size < 0 or tail[: len(FRAME)] != FRAME or tail[len(FRAME) :] != _digest(file, size):
            raise refused(where, "does not end with the sha256 of its content: it is cut off, damaged, or not a bundle")
        file.seek(0)
        with zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(file, closefd=False) as stream:
            head = {name: b"".join(_member(stream, name, None, path)) for name in (MANIFEST, SEAL)}
            manifest = read_manifest(head, where)
            contents = verified(manifest, head, path, lambda name, size: _member(stream, name, size, path))
            if any(_exactly(stream, 2 * RECORD, where)) or _read(stream, 1, where):
                raise refused(where, f"holds more than {MANIFEST} lists")
    return contents


def _member(stream: Source, name: str, size: int | None, path: Path) -> Iterator[bytes]:
    """The bytes of the next file, which must have this name and size; the size is in its header where it is None."""
    where = str(path)
    announced = _exactly(stream, RECORD, where)
    if size is None:
        try:
            size = tarfile.TarInfo.frombuf(announced, "ascii", "strict").size
        except (tarfile.HeaderError, UnicodeDecodeError) as error:
            raise refused(where, f"is not a tar: {error}") from error
        check_size(where, name, size)
    if announced != header(name, size):
        raise refused(where, f"has {_described(announced)} in place of {name!r} of {size:,} bytes")
    left = size
    while left:
        block = _exactly(stream, min(BLOCK, left), where)
        left -= len(block)
        yield block
    if any(_exactly(stream, -size % RECORD, where)):
        raise refused(f"{where}: {name}", "is followed by bytes that belong to no file")


def _described(announced: bytes) -> str:
    """A tar header in words."""
    try:
        member = tarfile.TarInfo.frombuf(announced, "utf-8", "backslashreplace")
    except tarfile.HeaderError as error:
        return f"no header of a file ({error})"
    kind = KINDS.get(member.type, f"a member of type {member.type!r}")
    return f"{kind} named {member.name[:100]!r} of {member.size:,} bytes"


def _exactly(stream: Source, size: int, where: str) -> bytes:
    data = b""
    while len(data) < size and (part := _read(stream, size - len(data), where)):
        data += part
    if len(data) < size:
        raise refused(where, "ends within a file")
    return data


def _read(stream: Source, size: int, where: str) -> bytes:
    try:
        return stream.read(size)
    except zstandard.ZstdError as error:
        raise refused(where, f"cannot be decompressed: {error}") from error
