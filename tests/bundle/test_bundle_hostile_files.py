"""Hostile files: folders with links and devices, manifests that list more than there is, invalid records."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.forged_bundles import Cases, Change, appended, forged, refusal, resealed, with_manifest, written

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
    "an empty name": (listing(""), "not a file of a bundle"),
    "a zero byte": (listing("config.json\0.json"), "not a file of a bundle"),
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
    "a name without end": (lambda manifest: manifest.update(trial="x" * 20_000), "printable"),
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
