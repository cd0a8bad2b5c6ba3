"""Arrays of strangers: an entry of the store read byte by byte, without a parser that believes what a file says of itself."""

import re
import struct
import zipfile
import zlib
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.bundle.errors import refused
from rag.bundle.strict_parse import json_of
from rag.core.records import Arrays
from rag.execution.store.entry_format import HEADER

NPY = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<|][biuf][1248])', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:\d{1,12}(?:, \d{1,12})*,?)?)\), \} *\n",
    re.DOTALL,
)
"""The header that numpy writes for plain numbers in C order; objects, texts and records have others."""
TYPES = frozenset(("|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)), "<f2", "<f4", "<f8"))
MOST = 64
"""Arrays of an entry."""
META = 1 << 16
"""Bytes of the JSON of an entry, which nobody reads here."""
LOCAL, NAME_LENGTH, EXTRA_LENGTH = 30, 26, 28
"""A header of a member within a zip: its size, and where the lengths of two more fields stand in it (APPNOTE 4.3.7)."""


def arrays_of(data: bytes, where: str) -> Arrays:
    """The arrays of an entry; BundleError for anything but plain finite numbers of the sizes that there are bytes for."""
    match = HEADER.match(data)
    if match is None or int(match["length"]) > META:
        raise refused(where, "does not begin as an entry does")
    begins = match.end() + int(match["length"])
    if not isinstance(json_of(data[match.end() : begins], where), dict):
        raise refused(where, "holds no JSON object")
    if len(data) == begins:
        return {}
    view = memoryview(data)[begins:]
    try:
        with zipfile.ZipFile(BufferedReader(_View(view))) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error, ValueError, OverflowError) as error:
        raise refused(where, f"holds no arrays: {error}") from error
    if len(members) > MOST or len({one.filename for one in members}) < len(members):
        raise refused(where, f"holds {len(members)} arrays, or two of one name")
    if sum(one.file_size for one in members) > len(data):
        raise refused(where, "says that its arrays have more bytes than there are")
    return {_name(one, where): _array(_stored(one, view, where), f"{where}: {_name(one, where)}") for one in members}


class _View(RawIOBase):
    """Bytes as a file, without a copy of them: an index can be most of the memory."""

    def __init__(self, view: memoryview) -> None:
        self.view, self.place = view, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Go to a place; ValueError before the first byte."""
        place = offset + {SEEK_SET: 0, SEEK_CUR: self.place, SEEK_END: len(self.view)}[whence]
        if place < 0:
            raise ValueError("a place before the first byte")
        self.place = place
        return place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; the number of bytes that there were."""
        found = self.view[self.place : self.place + len(buffer)]
        buffer[: len(found)] = found
        self.place += len(found)
        return len(found)


def _name(member: zipfile.ZipInfo, where: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,63}\.npy", member.filename, re.ASCII):
        raise refused(where, f"holds {member.filename!r}, which is no array")
    return member.filename.removesuffix(".npy")


def _stored(member: zipfile.ZipInfo, view: memoryview, where: str) -> memoryview:
    """The bytes of a member, which is stored as it is."""
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size or member.flag_bits & ~0x08:
        raise refused(f"{where}: {member.filename}", "is compressed or encrypted", "arrays are stored as they are")
    head = view[member.header_offset : member.header_offset + LOCAL]
    if len(head) < LOCAL or bytes(head[:4]) != b"PK\x03\x04":
        raise refused(f"{where}: {member.filename}", "is not where it is said to be")
    more = sum(int.from_bytes(head[at : at + 2], "little") for at in (NAME_LENGTH, EXTRA_LENGTH))
    start = member.header_offset + LOCAL + more
    found = view[start : start + member.file_size]
    if len(found) != member.file_size or zlib.crc32(found) != member.CRC:
        raise refused(f"{where}: {member.filename}", "has other bytes than its checksum says")
    return found


def _array(data: memoryview, where: str) -> NDArray[Any]:
    match = NPY.match(data)
    if match is None or match["type"].decode() not in TYPES or match.end() != 10 + int.from_bytes(match["length"], "little"):
        raise refused(where, "is no array of plain numbers")
    kind = np.dtype(match["type"].decode())
    shape = tuple(int(part) for part in match["shape"].decode().replace(",", " ").split())
    if len(shape) > 4 or prod(shape) * kind.itemsize != len(data) - match.end():
        raise refused(where, f"says shape {shape}, and has {len(data) - match.end():,} bytes")
    flat = np.frombuffer(data, np.uint8 if kind == np.bool_ else kind, offset=match.end())
    if kind == np.bool_ and flat.size and flat.max() > 1:
        raise refused(where, "holds truth values that are neither true nor false")
    if kind.kind == "f" and not np.isfinite(flat).all():
        raise refused(where, "holds NaN or infinity")
    # Copied, so that it lies aligned, and the file's bytes can go.
    return flat.astype(kind).reshape(shape)
