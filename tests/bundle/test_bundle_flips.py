"""A bundle that was damaged is never opened, wherever the damage is, and no parser sees it."""

import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from rag.bundle import consistency
from rag.bundle import open_bundle as opened
from rag.bundle.archive import pack
from rag.bundle.errors import BundleError
from rag.bundle.layout import MANIFEST
from rag.bundle.open_bundle import open_bundle

TIMES = 500


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which parsers were given anything: the names, as they are called."""
    heard: list[str] = []

    def listening(name: str) -> Callable[..., object]:
        def called(*_: object, **__: object) -> object:
            heard.append(name)
            raise AssertionError(f"{name} was given what was not verified")

        return called

    for place, name in (
        (yaml, "parse"),
        (opened, "yaml_of"),
        (opened, "json_of"),
        (opened, "lines_of"),
        (consistency, "arrays_of"),
        (np, "load"),
        (zipfile, "ZipFile"),
    ):
        monkeypatch.setattr(place, name, listening(name))
    return heard


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one bit flipped, cut off somewhere, or with some more behind them."""
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
        # The small files are the ones that a parser meets first.
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


def test_every_bit_of_the_seal_and_the_end_of_an_archive_counts(base: Path, tmp_path: Path) -> None:
    pack(base, tmp_path / "whole.tar.zst")
    whole, target = (tmp_path / "whole.tar.zst").read_bytes(), tmp_path / "b.tar.zst"
    for bit in range(40 * 8):
        changed = bytearray(whole)
        changed[-1 - bit // 8] ^= 1 << bit % 8
        target.write_bytes(changed)
        with pytest.raises(BundleError):
            open_bundle(target)
    shutil.copytree(base, tmp_path / "b")
    seal = (base / "manifest.sha256").read_bytes()
    for bit in range(len(seal) * 8):
        changed = bytearray(seal)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "b" / "manifest.sha256").write_bytes(changed)
        with pytest.raises(BundleError, match="does not fit"):
            open_bundle(tmp_path / "b")


def test_a_manifest_is_not_parsed_before_its_seal_fits(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(base, tmp_path / "b")
    (tmp_path / "b" / MANIFEST).write_bytes((base / MANIFEST).read_bytes().replace(b"size", b"sizf", 1))
    monkeypatch.setattr("rag.bundle.manifest.json_of", lambda *_: pytest.fail("parsed"))
    with pytest.raises(BundleError, match="does not fit"):
        open_bundle(tmp_path / "b")


def test_the_undamaged_bundle_opens(base: Path, tmp_path: Path) -> None:
    pack(base, tmp_path / "whole.tar.zst")
    assert open_bundle(base).digest == open_bundle(tmp_path / "whole.tar.zst").digest
