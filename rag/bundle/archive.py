"""A bundle as one file: a tar of its files, compressed with zstd, and after it a frame with the sha256 of all before.

Zstandard skips such a frame (RFC 8878, 3.1.2), so `tar --zstd -x` opens the archive too.
"""

import hashlib
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from rag.bundle import layout
from rag.bundle.atomic import appearing
from rag.bundle.errors import refused
from rag.bundle.files import BLOCK, Contents, read_folder, verified
from rag.bundle.layout import MANIFEST, SEAL, check_size
from rag.bundle.manifest import read_manifest
from rag.core.errors import required

SUFFIX = ".tar.zst"
FRAME = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")
"""Beginning of a skippable frame of 32 bytes."""
LEVEL = 6
WINDOW = 1 << 23
"""Most memory that decompression may take, in bytes: what `LEVEL` needs."""


class PlainFile(tarfile.TarInfo):
    """The header of an ordinary file; ReadError for any other, before tarfile reads what belongs to it."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> "PlainFile":
        """The header in 512 bytes."""
        found = super().frombuf(buf, "utf-8", "backslashreplace")
        if found.type != tarfile.REGTYPE:
            raise tarfile.ReadError(f"it holds {found.name[:100]!r}, which is no ordinary file")
        return found


class Hashed:
    """Hashes what is written, and what is read from a stream."""

    def __init__(self, stream: Any = None) -> None:
        self.stream, self.total = stream, hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Hash bytes."""
        self.total.update(data)
        return len(data)

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        self.write(data := self.stream.read(size))
        return bytes(data)


def pack(folder: Path, target: Path) -> None:
    """Write the folder of a bundle as one file, which replaces an older one at once.

    BundleError for a folder that is not a bundle, StoreError for a file that cannot be written. The same bundle gives the same
    bytes with the same version of zstandard.
    """
    with appearing(target, instead=True) as temporary:
        contents = read_folder(folder)
        compressor = _zstandard().ZstdCompressor(LEVEL, write_checksum=True, write_content_size=False)
        with temporary.open("w+b") as file:
            with compressor.stream_writer(file, closefd=False) as stream:
                _write_tar(contents, stream)
            size = file.tell()
            file.write(FRAME + _digest(file, size))


def _zstandard() -> Any:
    required("bundle", "zstandard")
    import zstandard

    return zstandard


def _digest(file: BinaryIO, size: int) -> bytes:
    """sha256 of the first `size` bytes; the file is then at that position."""
    file.seek(0)
    hashed = Hashed(file)
    while size > 0 and (block := hashed.read(min(BLOCK, size))):
        size -= len(block)
    return hashed.total.digest()


def _write_tar(contents: Contents, stream: Any) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.USTAR_FORMAT, encoding="ascii", errors="strict") as tar:
        for name in (MANIFEST, SEAL, *sorted(contents.manifest.files)):
            member, known = tarfile.TarInfo(name), contents.files.get(name)
            member.size = (contents.root / name).stat().st_size if known is None else len(known)
            with (contents.root / name).open("rb") if known is None else BytesIO(known) as file:
                tar.addfile(member, file)


def read_archive(path: Path) -> Contents:
    """The verified files of an archive that `pack` wrote; models are written to a folder that only this user may read."""
    where = str(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise refused(where, f"cannot be read: {error.strerror}", "name a bundle: a folder, or a .tar.zst") from error
    with file, _explained(where):
        if (size := os.fstat(file.fileno()).st_size) > layout.MOST_BYTES:
            raise refused(where, f"has {size:,} bytes", f"a bundle has at most {layout.MOST_BYTES:,}")
        if FRAME + _digest(file, size - len(FRAME) - 32) != file.read():
            raise refused(where, "does not end with the sha256 of its content: it is cut off, damaged, or not a bundle")
        file.seek(0)
        return _read_tar(file, path)


def _read_tar(file: BinaryIO, path: Path) -> Contents:
    decompressor = _zstandard().ZstdDecompressor(max_window_size=WINDOW)
    with decompressor.stream_reader(file, closefd=False, read_across_frames=True) as stream:
        source = Hashed(stream)
        with tarfile.open(str(path), "r|", source, tarinfo=PlainFile) as tar:  # type: ignore[call-overload]
            head = {name: b"".join(_content(tar, name, None)) for name in (MANIFEST, SEAL)}
            contents = verified(read_manifest(head, str(path)), head, path, lambda name, size: _content(tar, name, size))
            if member := tar.next():
                raise tarfile.ReadError(f"it holds {member.name[:100]!r}, and {MANIFEST} does not list it")
        # Headers, padding and the end could hold other bytes.
        _write_tar(contents, written := Hashed())
        if source.read(1) or source.total.digest() != written.total.digest():
            raise tarfile.ReadError("it holds more than its files, or other headers than rag export writes")
    return contents


def _content(tar: tarfile.TarFile, name: str, size: int | None) -> Iterator[bytes]:
    """The bytes of the next file, which must have this name and, unless it is None, this size."""
    member = tar.next()
    if member is None or (member.name, member.size) != (name, member.size if size is None else size):
        found = f"{member.name[:100]!r} of {member.size:,} bytes" if member else "its end"
        raise tarfile.ReadError(f"it has {found} in place of {name!r}" + ("" if size is None else f" of {size:,} bytes"))
    check_size(str(tar.name), name, member.size)
    opened = tar.extractfile(member)
    while opened and (block := opened.read(BLOCK)):
        yield block


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except tarfile.TarError as error:
        raise refused(where, f"is no archive of a bundle: {error}") from error
    except _zstandard().ZstdError as error:
        raise refused(where, f"cannot be decompressed: {error}") from error
