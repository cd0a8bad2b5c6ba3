"""One entry of the store as bytes: a line with two checksums and a length, a JSON object, an uncompressed npz of plain arrays.

Nothing in it can carry code, and the JSON can be read without the arrays.
"""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag.core.types import Arrays

HEADER = re.compile(rb"assay 1 (?P<arrays>[0-9a-f]{64}) (?P<meta>[0-9a-f]{64}) (?P<length>\d{1,12})\n")


@dataclass(frozen=True)
class Entry:
    """The content of a key: named arrays and a JSON object."""

    arrays: Arrays = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


def encode(entry: Entry) -> bytes:
    """An entry as bytes, checksums first."""
    arrays = _npz(entry.arrays) if entry.arrays else b""
    # JSON with NaN: the cost of a reply may be unknown.
    meta = json.dumps(entry.meta, separators=(",", ":")).encode()
    return b"assay 1 %s %s %d\n" % (_sha256(arrays), _sha256(meta), len(meta)) + meta + arrays


def _npz(arrays: Arrays) -> bytes:
    """The bytes of `numpy.savez`, which cannot write an array named `file`; ValueError for Python objects."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


def decode(data: bytes) -> Entry:
    """The entry that `encode` made these bytes of; ValueError when a byte differs."""
    header, meta = decode_meta(data)
    arrays = memoryview(data)[header.end() + int(header["length"]) :]
    if _sha256(arrays) != header["arrays"]:
        raise ValueError("the checksum of its arrays differs")
    if not arrays:
        return Entry({}, meta)
    with np.load(io.BytesIO(arrays), allow_pickle=False) as archive:
        return Entry({name: archive[name] for name in archive.files}, meta)


def decode_meta(data: bytes) -> tuple[re.Match[bytes], dict[str, Any]]:
    """The header and the JSON at the beginning of an entry's bytes; ValueError when a byte of them differs."""
    header = HEADER.match(data)
    if header is None:
        raise ValueError("its header is not valid")
    meta = data[header.end() : header.end() + int(header["length"])]
    if _sha256(meta) != header["meta"]:
        raise ValueError("the checksum of its JSON differs")
    return header, json.loads(meta)


def _sha256(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
