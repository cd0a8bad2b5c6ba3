"""Hostile files: links and devices, manifests that list more than there is, invalid records, arrays that do not fit."""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forged_bundles import Cases, Change, appended, forged, refusal, resealed, tensors, with_manifest, written

from rag.bundle import files, layout


def linked(name: str) -> Change:
    """A link in place of a file or folder."""

    def change(folder: Path) -> None:
        (folder / name).rename(folder.parent / name)
        (folder / name).symlink_to(folder.parent / name)

    return change


def sparse(name: str, size: int) -> Change:
    def change(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(size)

    return change


FOLDERS: Cases = {
    "a link in place of a file": (linked("config.json"), "is a link"),
    "a link in place of a folder": (linked("indexes"), "is a link"),
    "a hard link": (lambda folder: (folder.parent / "other").hardlink_to(folder / "config.json"), "a hard link"),
    "a pipe": (lambda folder: os.mkfifo(folder / "golden.jsonl"), "a pipe or a device"),
    "ten gigabytes of zeros": (sparse("documents.jsonl", 10 << 30), "at most 2,147,483,648"),
    "more than is listed": (appended("documents.jsonl", "\n"), "manifest.json says"),
    "a file that is not listed": (written("golden.jsonl", "{}\n"), "not listed"),
    "a program": (written("setup.py", "import os"), "not a file of a bundle"),
    "a deep folder": (written("/".join(["models", *"abcdefghijkl", "x.json"]), "{}"), "not a file of a bundle|deeper"),
    "indexes in two cases": (written("indexes/Dense.safetensors", b""), "where case does not count"),
    "a name with a line break": (written("models/x/a\n.json", "{}"), "not a file of a bundle"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "missing"),
    "no seal": (lambda folder: (folder / "manifest.sha256").unlink(), "no manifest.sha256"),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_hostile_folder_is_refused(base: Path, tmp_path: Path, name: str) -> None:
    change, words = FOLDERS[name]
    made = forged(base, tmp_path / "b", change, seal_again=False)
    assert any(part in str(refusal(made)) for part in words.split("|")), str(refusal(made))


def listing(name: str, size: int = 3) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest["files"].update({name: {"sha256": "0" * 64, "size": size}})


MANIFESTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "an absolute path": (listing("/etc/passwd"), "not a file of a bundle"),
    "a path above": (listing("../../etc/passwd"), "not a file of a bundle"),
    "two cases": (listing("indexes/Dense.safetensors"), "where case does not count"),
    "a file that is a folder": (
        lambda manifest: (listing("models/a/b.json")(manifest), listing("models/a/b.json/c.json")(manifest)),
        "a file and a folder",
    ),
    "the manifest itself": (listing("manifest.json"), "itself"),
    "ten gigabytes": (listing("documents.jsonl", 10 << 30), "at most"),
    "a file that is not there": (listing("golden.jsonl"), "missing"),
    "an older format": (lambda manifest: manifest.update(format=2), "this version reads 3"),
    "an unknown field": (lambda manifest: manifest.update(run="rm -rf /"), "Unexpected keyword"),
    "half a character in its name": (lambda manifest: manifest.update(name="a\ud800"), "printable"),
    "an experiment elsewhere": (lambda manifest: manifest.update(experiment="../../their/gate"), "a path"),
    "20,000 files": (lambda manifest: [listing(f"models/m/{n}.json")(manifest) for n in range(20_000)], "10000 items"),
    "other documents": (lambda manifest: manifest.update(corpus="0" * 64), "has the digest"),
    "a model of nothing": (
        lambda manifest: manifest["models"].append({"role": "judge", "name": "x", "fingerprint": "x"}),
        "the model of nothing",
    ),
    "a model elsewhere": (
        lambda manifest: manifest["models"].append(
            {"role": "embedder", "name": "x", "fingerprint": "x", "inside": "../../home"}
        ),
        "a model inside lies in",
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_hostile_manifest_is_refused(base: Path, tmp_path: Path, name: str) -> None:
    edit, words = MANIFESTS[name]
    made = forged(base, tmp_path / "b", lambda folder: resealed(folder, edit), seal_again=False)
    assert words in str(refusal(made))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"format": 1, "format": 1}', "twice"),
        (b'{"format": ' + b"9" * 9999 + b"}", "not valid JSON"),
        (b"[" * 100_000, "nests too deep"),
        (b"{%s}" % b",".join(b'"%d": 1, "%d": 1' % (number, number) for number in range(200_000)), "twice"),
        (b"null", "this version reads 3"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b" " * (17 << 20), "at most"),
    ],
)
def test_an_invalid_manifest_is_refused(base: Path, tmp_path: Path, data: bytes, words: str) -> None:
    made = forged(base, tmp_path / "b", lambda folder: with_manifest(folder, data), seal_again=False)
    assert words in str(refusal(made))


EMPTY = {"doc_id": "z", "text": "", "metadata": {}, "blocks": [], "redactions": []}


def line(**values: Any) -> Change:
    return appended("documents.jsonl", json.dumps({**EMPTY, "text": "z", **values}) + "\n")


RECORDS: Cases = {
    "no document": (written("documents.jsonl", ""), "holds no document"),
    "half a line": (appended("documents.jsonl", '{"doc_id"'), "ends within a line"),
    "a document twice": (line(doc_id="winter.md"), "twice, or out of order"),
    "an unknown field": (line(path="/etc/passwd"), "5: path: is '/etc/passwd'"),
    "half a character": (line(text="\ud800"), "5: text: is"),
    "metadata that nest": (line(metadata={"a": {"b": 1}}), "metadata"),
    "a doc_id with an escape": (line(doc_id="z\x1b[2J"), "printable"),
    "another document": (line(), "has the digest"),
    "invalid scores": (written("scores.json", "{,}"), "not valid JSON"),
    "a deep card": (written("cards/x.json", "[" * 100_000), "nests too deep"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_hostile_records_are_refused(base: Path, tmp_path: Path, name: str) -> None:
    change, words = RECORDS[name]
    assert words in str(refusal(forged(base, tmp_path / "b", change)))


@pytest.mark.parametrize(("name", "words"), [("MOST_FILES", "more than 2 files"), ("MOST_BYTES", "a bundle has at most 2")])
def test_a_bundle_that_is_too_large_is_refused(base: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    monkeypatch.setattr(layout, name, 2)
    assert words in str(refusal(base))


def piped(folder: Path) -> None:
    (folder / "documents.jsonl").unlink()
    os.mkfifo(folder / "documents.jsonl")


@pytest.mark.parametrize("swap", [linked("config.json"), linked("indexes"), written("documents.jsonl", "longer"), piped])
def test_a_file_that_is_replaced_while_it_is_read_is_noticed(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: Callable[[Path], object]
) -> None:
    """A pipe is not waited for."""
    made = forged(base, tmp_path / "b", lambda folder: None)
    check = files._check_listing
    monkeypatch.setattr(files, "_check_listing", lambda *given: (check(*given), swap(made)))
    error = refusal(made)
    assert "cannot be read" in error.what or "changes while it is read" in error.what


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
