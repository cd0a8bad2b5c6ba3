"""Hostile arrays: files other than safetensors of plain numbers, and arrays that do not fit the documents."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forged_bundles import Cases, Change, forged, refusal, tensors, written

DENSE, WORDS, CHUNKS = (f"{name}.safetensors" for name in ("indexes/dense", "indexes/bm25s", "chunks"))


def raw(data: bytes = b"1234", header: bytes | None = None, **vectors: Any) -> Change:
    """A file with a header that lies about its `vectors`, or with any other header."""
    known = {"dtype": "F32", "shape": [1], "data_offsets": [0, len(data)], **vectors}
    text = json.dumps({"vectors": known}).encode() if header is None else header
    return written(DENSE, struct.pack("<Q", len(text)) + text + data)


def chunks(**columns: Any) -> Change:
    return tensors(CHUNKS, **columns)


def all_columns(change: Any) -> Change:
    return chunks(**dict.fromkeys(("doc", "start", "end"), change))


def words(**arrays: Any) -> Change:
    return tensors(WORDS, **arrays)


ARRAYS: Cases = {
    "a pickle": (written(DENSE, b"\x80\x04cos\nsystem\n."), "not a valid safetensors"),
    "a header without end": (written(DENSE, struct.pack("<Q", 1 << 62) + b"{}"), "header too large"),
    "short floats": (raw(dtype="BF16", shape=[2]), "has the type BF16"),
    "too many arrays": (tensors(DENSE, **{f"a{number}": np.zeros(1) for number in range(70)}), "at most 64"),
    "truth values of 7": (raw(b"\x07", dtype="BOOL"), "truth values"),
    "not a number": (tensors(DENSE, vectors=lambda known: known * np.nan), "NaN or infinity"),
    "vectors of another corpus": (tensors(DENSE, vectors=lambda known: known[:-1]), "one row for each"),
    "long vectors": (tensors(DENSE, vectors=lambda known: known * 1e30), "longer than 1"),
    "FAISS bytes": (tensors(DENSE, index=np.frombuffer(b"IxFI" + b"\xff" * 200, np.uint8)), "not safe to read"),
    "chunks of unknown documents": (chunks(doc=lambda known: known + 1000), "documents that are not there"),
    "chunks beyond the end": (chunks(end=lambda known: known + 10**12), "outside of their documents"),
    "empty chunks": (chunks(end=lambda known: known * 0), "outside of their documents"),
    "chunks backwards": (all_columns(lambda known: known[::-1]), "out of reading order"),
    "chunks twice": (all_columns(lambda known: np.repeat(known, 2)), "one twice"),
    "no chunk": (all_columns(lambda known: known[:0]), "holds no chunk"),
    "columns of two lengths": (chunks(end=lambda known: known[:-1]), "one whole number per chunk"),
    "texts that are no UTF-8": (chunks(indexed=np.array([255], np.uint8), indexed_end=np.array([1])), "no valid texts"),
    "texts backwards": (chunks(indexed=np.array([65, 66], np.uint8), indexed_end=np.array([2, 1, 2])), "no valid texts"),
    "other texts than chunks": (chunks(indexed=np.array([65], np.uint8), indexed_end=np.array([1])), "has 1 texts"),
    "postings beyond the corpus": (words(chunks=lambda known: known + 2**30), "holds 'chunks' out of range"),
    "postings that step back": (words(starts=lambda known: known[::-1]), "mixes up its terms"),
    "a corpus of another size": (words(size=np.array([10**12])), "there are"),
    "terms that are numbers": (words(terms=np.frombuffer(b"[1, 2]", np.uint8)), "no valid list of terms"),
    "heavy terms": (words(weights=lambda known: known + 1e30), "weights above"),
    "fewer weights": (words(weights=lambda known: known[:-1]), "holds 'starts' out of range"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_hostile_arrays_are_refused(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    change, expected = ARRAYS[name]
    error = str(refusal(forged(base, tmp_path / "b", change)))
    assert any(part in error for part in expected.split("|")), error
    assert not (tmp_path / "canary").exists()
