"""A damaged bundle is never opened, wherever the damage is, and none of its bytes are parsed."""

import random
import shutil
from pathlib import Path

import pytest

from rag.bundle import arrays, consistency
from rag.bundle import open_bundle as opened
from rag.bundle.archive import pack
from rag.bundle.errors import BundleError
from rag.bundle.layout import MANIFEST
from rag.bundle.open_bundle import open_bundle

TIMES = 100


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the parsers that were called."""
    calls: list[str] = []
    for place, name in (
        (opened, "json_of"),
        (opened, "lines_of"),
        (consistency, "arrays_of"),
        (consistency, "lines_of"),
        (arrays, "deserialize"),
    ):
        monkeypatch.setattr(place, name, lambda *_, name=name: calls.append(name))
    return calls


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one bit flipped, cut off somewhere, or with more at the end."""
    kind = chance.random()
    if kind < 0.7 and data:
        place = chance.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    if kind < 0.9 and data:
        return data[: chance.randrange(len(data))]
    return data + bytes(chance.randrange(1, 600))


def test_every_damage_to_a_folder_is_noticed(base: Path, tmp_path: Path, parsers: list[str]) -> None:
    shutil.copytree(base, tmp_path / "b")
    names = sorted(path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file())
    for seed in range(TIMES):
        chance = random.Random(seed)
        name = chance.choice(names)
        whole = (base / name).read_bytes()
        (tmp_path / "b" / name).write_bytes(damaged(whole, chance))
        with pytest.raises(BundleError):
            open_bundle(tmp_path / "b")
        (tmp_path / "b" / name).write_bytes(whole)
    assert parsers == []


def test_every_damage_to_an_archive_is_noticed(base: Path, tmp_path: Path, parsers: list[str]) -> None:
    pack(base, tmp_path / "whole.tar.zst")
    whole, target = (tmp_path / "whole.tar.zst").read_bytes(), tmp_path / "b.tar.zst"
    for seed in range(TIMES):
        target.write_bytes(damaged(whole, random.Random(seed)))
        with pytest.raises(BundleError, match="does not end with the sha256"):
            open_bundle(target)
    assert parsers == []


def test_a_manifest_is_parsed_only_if_its_seal_fits(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(base, tmp_path / "b")
    (tmp_path / "b" / MANIFEST).write_bytes((base / MANIFEST).read_bytes().replace(b"size", b"sizf", 1))
    monkeypatch.setattr("rag.bundle.manifest.json_of", lambda *_: pytest.fail("parsed"))
    with pytest.raises(BundleError, match="does not fit"):
        open_bundle(tmp_path / "b")
