"""Archives: the same bytes for the same bundle, and none but those that rag export writes are read."""

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from support.forged_bundles import archived, forged, refusal, with_hash, written

from rag.bundle import archive, layout
from rag.bundle.archive import FRAME, pack
from rag.bundle.errors import BundleError
from rag.core.errors import StoreError


def tar_of(path: Path) -> bytes:
    """The tar in an archive."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())


@pytest.fixture
def tar(base: Path, tmp_path: Path) -> bytes:
    pack(base, tmp_path / "whole.tar.zst")
    return tar_of(tmp_path / "whole.tar.zst")


def header(name: str, size: int) -> bytes:
    return member(name, tarfile.REGTYPE, size=size)


def test_the_same_bundle_gives_the_same_archive_that_ends_with_its_hash(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*"):
        os.utime(path, (1, 1))
    pack(base, tmp_path / "one.tar.zst")
    pack(tmp_path / "copy", tmp_path / "two.tar.zst")
    data = (tmp_path / "one.tar.zst").read_bytes()
    assert data == (tmp_path / "two.tar.zst").read_bytes()
    assert data[-40:] == FRAME + hashlib.sha256(data[:-40]).digest()


def test_a_damaged_bundle_is_not_packed(base: Path, tmp_path: Path) -> None:
    changed = forged(base, tmp_path / "b", written("config.json", "{}"), seal_again=False)
    with pytest.raises(BundleError, match=r"config\.json"):
        pack(changed, tmp_path / "b.tar.zst")
    assert not list(tmp_path.glob("*.zst")) + list(tmp_path.glob(".*"))


def test_a_failure_leaves_the_old_archive(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "b.tar.zst"
    pack(base, target)
    before = target.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(StoreError, match="does not fit on the disk"):
        pack(base, target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar.zst"]


Rewrite = Callable[[bytes], bytes]


def member(name: str, kind: bytes, target: str = "", size: int = 0, form: int = tarfile.USTAR_FORMAT) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, target, size, 0o644
    return info.tobuf(form)


def first(new: bytes) -> Rewrite:
    """Another member before the first one."""
    return lambda tar: new + tar


def instead(new: Callable[[tarfile.TarInfo], bytes]) -> Rewrite:
    """Another header for the config."""

    def rewrite(tar: bytes) -> bytes:
        with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
            info = opened.getmember("config.json")
        return tar[: info.offset] + new(info) + tar[info.offset_data :]

    return rewrite


def mode(info: tarfile.TarInfo) -> bytes:
    info.mode = 0o4755
    return info.tobuf(tarfile.USTAR_FORMAT)


def _hidden(tar: bytes) -> bytes:
    """A tar with bytes in the padding after its manifest."""
    end = tarfile.BLOCKSIZE + int(tar[124:135], 8)
    assert end % tarfile.BLOCKSIZE, "there is no padding"
    return tar[:end] + b"x" + tar[end + 1 :]


HOSTILE: dict[str, tuple[Rewrite, str]] = {
    "a link": (instead(lambda info: member("config.json", tarfile.SYMTYPE, "/etc/passwd")), "no ordinary file"),
    "a path above": (first(member("../../x", tarfile.REGTYPE)), "'../../x'"),
    "an executable of another user": (instead(mode), "other headers"),
    "a larger size": (instead(lambda info: header("config.json", info.size + 512)), "in place of"),
    "a manifest of 16 exabytes": (
        first(member("manifest.json", tarfile.REGTYPE, size=1 << 62, form=tarfile.GNU_FORMAT)),
        "at most",
    ),
    "a manifest twice": (lambda tar: tar[:1536] + tar[:1536] + tar[1536:], "in place of"),
    "no manifest": (lambda tar: tar[2048:], "invalid header"),
    "zeros after the end": (lambda tar: tar + bytes(64 << 20), "holds more than"),
    "no end": (lambda tar: tar[:-1024], "holds more than"),
    "nothing": (lambda tar: b"", "empty file"),
    "zeros": (lambda tar: bytes(1 << 20), "its end in place of"),
    "bytes between the files": (lambda tar: _hidden(tar), "holds more than"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(tar: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    rewrite, words = HOSTILE[name]
    assert words in str(refusal(archived(tmp_path / "b.tar.zst", rewrite(tar))))
    assert not list((tmp_path / "work").iterdir())


def bomb(size: int) -> bytes:
    compressor = zstandard.ZstdCompressor(1).compressobj()
    return b"".join(compressor.compress(bytes(1 << 20)) for _ in range(size >> 20)) + compressor.flush()


WIDE = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27))


def test_no_more_is_decompressed_than_is_listed(tmp_path: Path, tar: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    plain = archive.Hashed.read
    monkeypatch.setattr(archive.Hashed, "read", lambda self, size: (asked.append(size), plain(self, size))[1])
    path = with_hash(tmp_path / "b.tar.zst", bomb(1 << 28))
    assert "its end" in refusal(path).what
    assert sum(asked) <= path.stat().st_size + 20480


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "cannot be decompressed"),
        (b"\x1f\x8b" * 20, "cannot be decompressed"),
        (WIDE.compress(os.urandom(9 << 20)), "memory"),
        (b"", "empty file"),
    ],
)
def test_data_that_cannot_be_decompressed_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in refusal(with_hash(tmp_path / "b.tar.zst", data)).what


def test_an_archive_that_is_too_large_is_not_read(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "zeros.tar.zst").open("wb") as file:
        file.truncate(10 << 30)
    assert "at most" in refusal(tmp_path / "zeros.tar.zst").remedy
    pack(base, tmp_path / "b.tar.zst")
    monkeypatch.setattr(layout, "MOST_BYTES", 100)
    assert "at most 100" in refusal(tmp_path / "b.tar.zst").remedy
