"""Arrays of strangers: what is no array of plain numbers, and arrays that lead elsewhere."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forged_bundles import Cases, entry, forged, raw_entry, refusal, written

DENSE, WORDS, CHUNKS = "indexes/dense.entry", "indexes/bm25s.entry", "chunks.entry"


def zipped(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=True)
    return buffer.getvalue()


def header(text: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text.encode() + b"\n" + data


class Boom:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch canary",)


SHAPE = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
BOMB = zipped(zipfile.ZIP_DEFLATED, vectors=npy(np.zeros(1 << 22, np.float32)))

ARRAYS: Cases = {
    "objects": (raw_entry(DENSE, zipped(vectors=npy(np.array([Boom()], object)))), "no array of plain numbers"),
    "a pickle": (raw_entry(DENSE, b"\x80\x04cos\nsystem\n."), "holds no arrays"),
    "records": (raw_entry(DENSE, zipped(vectors=npy(np.zeros(3, "i4,f4")))), "no array of plain numbers"),
    "texts": (raw_entry(DENSE, zipped(vectors=npy(np.array(["a" * 99])))), "no array of plain numbers"),
    "compressed": (raw_entry(DENSE, BOMB), "compressed|more bytes"),
    "a petabyte": (raw_entry(DENSE, zipped(vectors=header(SHAPE % "1000000000, 262144"))), "says shape"),
    "a shape that overflows": (raw_entry(DENSE, zipped(vectors=header(SHAPE % "999999999999, 999999999999"))), "says shape"),
    "a negative shape": (raw_entry(DENSE, zipped(vectors=header(SHAPE % "-1,"))), "no array of plain numbers"),
    "a header that is evaluated": (
        raw_entry(DENSE, zipped(vectors=header("__import__('os').system('touch canary')"))),
        "no array of plain numbers",
    ),
    "a deep header": (raw_entry(DENSE, zipped(vectors=header("(" * 9000))), "no array of plain numbers"),
    "the other byte order": (raw_entry(DENSE, zipped(vectors=npy(np.zeros((3, 2), ">f4")))), "no array of plain numbers"),
    "a name that leads out": (raw_entry(DENSE, zipped(**{"../../x": npy(np.zeros(3))})), "no array"),
    "no zip": (raw_entry(DENSE, b"PK\x05\x06" + b"\xff" * 30), "holds no arrays"),
    "another header": (written(DENSE, b"assay 2 x"), "does not begin as an entry"),
    "JSON without end": (written(DENSE, b"assay 1 %s %s 999999999999\n" % (b"0" * 64, b"0" * 64)), "does not begin"),
    "NaN": (entry(DENSE, vectors=lambda known: known * np.nan), "NaN"),
    "infinity": (entry(WORDS, weights=lambda known: known + np.inf), "NaN or infinity"),
    "vectors for others": (entry(DENSE, vectors=lambda known: known[:-1]), "one row for each"),
    "vectors in a row": (entry(DENSE, vectors=lambda known: known.ravel()), "one row for each"),
    "long vectors": (entry(DENSE, vectors=lambda known: known * 1e30), "longer than 1"),
    "whole vectors": (entry(DENSE, vectors=lambda known: known.astype(np.int32)), "float32"),
    "FAISS bytes": (entry(DENSE, index=np.frombuffer(b"IxFI" + b"\xff" * 200, np.uint8)), "not safe to read"),
    "chunks of nobody": (entry(CHUNKS, doc=lambda known: known + 1000), "documents that are not there"),
    "chunks before the first": (entry(CHUNKS, doc=lambda known: known - 1), "documents that are not there"),
    "chunks beyond the end": (entry(CHUNKS, end=lambda known: known + 10**12), "that their documents do not have"),
    "chunks before the beginning": (entry(CHUNKS, start=lambda known: known - 10), "that their documents do not have"),
    "empty chunks": (entry(CHUNKS, end=lambda known: known * 0), "that their documents do not have"),
    "chunks backwards": (
        entry(CHUNKS, doc=lambda k: k[::-1], start=lambda k: k[::-1], end=lambda k: k[::-1]),
        "out of reading order",
    ),
    "chunks twice": (
        entry(CHUNKS, **{name: lambda known: np.repeat(known, 2) for name in ("doc", "start", "end")}),
        "one twice",
    ),
    "columns of two lengths": (entry(CHUNKS, end=lambda known: known[:-1]), "one whole number per chunk"),
    "chunks in floats": (entry(CHUNKS, start=lambda known: known.astype(float)), "one whole number per chunk"),
    "no chunk": (entry(CHUNKS, **{name: lambda known: known[:0] for name in ("doc", "start", "end")}), "holds no chunk"),
    "postings beyond the corpus": (entry(WORDS, chunks=lambda known: known + 2**30), "leads out of the corpus"),
    "postings before it": (entry(WORDS, chunks=lambda known: known - 2**30), "leads out of the corpus"),
    "postings that step back": (entry(WORDS, starts=lambda known: known[::-1]), "leads out of the postings"),
    "postings beyond the end": (entry(WORDS, starts=lambda known: known * 1000), "leads out of the postings"),
    "a corpus of another size": (entry(WORDS, size=np.array([10**12])), "there are"),
    "terms that are no texts": (entry(WORDS, terms=np.frombuffer(b"[1, 2]", np.uint8)), "different texts"),
    "deep terms": (entry(WORDS, terms=np.frombuffer(b"[" * 100_000, np.uint8)), "nests too deep"),
    "heavy terms": (entry(WORDS, weights=lambda known: known + 1e30), "weights above"),
    "fewer weights": (entry(WORDS, weights=lambda known: known[:-1]), "other numbers of"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_hostile_arrays_are_refused(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    change, words = ARRAYS[name]
    said = str(refusal(forged(base, tmp_path / "b", change)))
    assert any(part in said for part in words.split("|")), said
    assert not (tmp_path / "canary").exists()
