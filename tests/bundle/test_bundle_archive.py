import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from support.forged_bundles import archived, forged, refusal, resealed, written

from rag.bundle import archive
from rag.bundle.archive import FRAME, header, pack
from rag.bundle.errors import BundleError
from rag.bundle.layout import Limits
from rag.bundle.open_bundle import open_bundle, read
from rag.core.errors import StoreError


def tar_of(path: Path) -> bytes:
    """The tar inside of an archive."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())


@pytest.fixture
def tar(base: Path, tmp_path: Path) -> bytes:
    pack(base, tmp_path / "whole.tar.zst")
    return tar_of(tmp_path / "whole.tar.zst")


def test_the_same_bundle_gives_the_same_archive(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*"):
        os.utime(path, (1, 1))
    pack(base, tmp_path / "one.tar.zst")
    pack(tmp_path / "copy", tmp_path / "two.tar.zst")
    assert (tmp_path / "one.tar.zst").read_bytes() == (tmp_path / "two.tar.zst").read_bytes()


def test_it_ends_with_the_hash_of_all_before(base: Path, tmp_path: Path) -> None:
    pack(base, tmp_path / "b.tar.zst")
    data = (tmp_path / "b.tar.zst").read_bytes()
    assert data[-40:] == FRAME + hashlib.sha256(data[:-40]).digest()


@pytest.mark.skipif(not shutil.which("zstd") or not shutil.which("tar"), reason="tar or zstd is not installed")
def test_other_programs_unpack_it(base: Path, tmp_path: Path) -> None:
    pack(base, tmp_path / "b.tar.zst")
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "--zstd", "-xf", tmp_path / "b.tar.zst", "-C", tmp_path / "out"], check=True)
    assert open_bundle(tmp_path / "out").digest == open_bundle(base).digest


def test_what_is_no_bundle_is_not_packed(base: Path, tmp_path: Path) -> None:
    changed = forged(base, tmp_path / "b", written("config.yaml", "k: 1\n"), seal_again=False)
    with pytest.raises(BundleError, match=r"config\.yaml"):
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


class TestModels:
    """Models inside of an archive lie in a folder as long as the bundle is used."""

    @pytest.fixture
    def path(self, base: Path, tmp_path: Path) -> Path:
        made = forged(base, tmp_path / "b", written("models/reranker/1_Pooling/config.json", "{}"))
        pack(made, tmp_path / "b.tar.zst")
        return tmp_path / "b.tar.zst"

    def test_they_are_written_for_nobody_else(self, path: Path) -> None:
        found = read(path)
        assert found.root.stat().st_mode & 0o077 == 0
        assert (found.root / "models/reranker/1_Pooling/config.json").read_text("utf-8") == "{}"
        assert "models/reranker/1_Pooling/config.json" not in found.files

    def test_they_go_with_it(self, path: Path) -> None:
        found = read(path)
        root = found.root
        del found
        assert not root.exists()

    def test_models_of_nobody_are_refused(self, path: Path) -> None:
        assert "belongs to no model" in refusal(path).what


Rewrite = Callable[[bytes], bytes]


def member(name: str, kind: bytes, target: str = "", size: int = 0, form: int = tarfile.USTAR_FORMAT) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, target, size, 0o644
    return info.tobuf(form)


def first(new: bytes) -> Rewrite:
    """Something in front of the first member."""
    return lambda tar: new + tar


def instead(new: Callable[[tarfile.TarInfo], bytes]) -> Rewrite:
    """Another header for the config."""

    def rewrite(tar: bytes) -> bytes:
        with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
            info = opened.getmember("config.yaml")
        return tar[: info.offset] + new(info) + tar[info.offset_data :]

    return rewrite


def mode(info: tarfile.TarInfo) -> bytes:
    info.mode = 0o4755
    return info.tobuf(tarfile.USTAR_FORMAT)


HOSTILE: dict[str, tuple[Rewrite, str]] = {
    "a link": (instead(lambda info: member("config.yaml", tarfile.SYMTYPE, "/etc/passwd")), "a symbolic link"),
    "a hard link": (instead(lambda info: member("config.yaml", tarfile.LNKTYPE, "/etc/passwd")), "a hard link"),
    "a device": (instead(lambda info: member("config.yaml", tarfile.CHRTYPE)), "a device"),
    "a disk": (instead(lambda info: member("config.yaml", tarfile.BLKTYPE)), "a device"),
    "a pipe": (instead(lambda info: member("config.yaml", tarfile.FIFOTYPE)), "a pipe"),
    "a folder": (first(member("models", tarfile.DIRTYPE)), "no tar|a folder"),
    "an absolute path": (first(member("/etc/cron.d/x", tarfile.REGTYPE)), "'/etc/cron.d/x'"),
    "a path above": (first(member("../../x", tarfile.REGTYPE)), "'../../x'"),
    "a path that is too long": (first(member("x" * 200, tarfile.REGTYPE, form=tarfile.GNU_FORMAT)), "GNU|member|file"),
    "extended headers": (first(member("x" * 200, tarfile.REGTYPE, form=tarfile.PAX_FORMAT)), "member|belongs"),
    "a sparse file": (instead(lambda info: member("config.yaml", tarfile.GNUTYPE_SPARSE)), "belongs|no tar"),
    "another owner's program": (instead(mode), "belongs"),
    "a larger size": (instead(lambda info: header("config.yaml", info.size + 512)), "belongs"),
    "a size without end": (
        instead(lambda info: member("config.yaml", tarfile.REGTYPE, size=8 << 40, form=tarfile.GNU_FORMAT)),
        "belongs",
    ),
    "a manifest of 16 exabytes": (
        first(member("manifest.json", tarfile.REGTYPE, size=1 << 62, form=tarfile.GNU_FORMAT)),
        "at most",
    ),
    "a manifest without end": (lambda tar: header("manifest.json", 7 << 30) + tar[512:], "at most"),
    "a manifest twice": (lambda tar: tar[:1536] + tar[:1536] + tar[1536:], "belong"),
    "no manifest": (lambda tar: tar[2048:], "belongs|no tar"),
    "the files in another order": (instead(lambda info: header("documents.jsonl", info.size)), "belongs"),
    "something behind": (lambda tar: tar + b"x", "holds more than"),
    "zeros behind": (lambda tar: tar + bytes(64 << 20), "holds more than"),
    "nothing behind": (lambda tar: tar[:-1024], "ends within"),
    "half of it": (lambda tar: tar[: len(tar) // 2], "ends within"),
    "nothing": (lambda tar: b"", "ends within"),
    "zeros": (lambda tar: bytes(1 << 20), "no tar"),
    "no tar": (lambda tar: b"\x7fELF" * 4096, "no tar"),
    "bytes between the files": (lambda tar: tar[:1400] + b"hidden" + tar[1406:], ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(tar: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    rewrite, words = HOSTILE[name]
    said = str(refusal(archived(tmp_path / "b.tar.zst", rewrite(tar))))
    assert any(part in said for part in words.split("|")), said
    assert not list((tmp_path / "work").iterdir())


def bomb(size: int) -> bytes:
    compressor = zstandard.ZstdCompressor(1).compressobj()
    return b"".join(compressor.compress(bytes(1 << 20)) for _ in range(size >> 20)) + compressor.flush()


WIDE = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27))


def with_hash(path: Path, data: bytes) -> Path:
    path.write_bytes(data + FRAME + hashlib.sha256(data).digest())
    return path


def test_no_more_is_decompressed_than_is_listed(tmp_path: Path, tar: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    plain = archive._read
    monkeypatch.setattr(archive, "_read", lambda stream, size, where: (asked.append(size), plain(stream, size, where))[1])
    assert "no tar" in refusal(with_hash(tmp_path / "b.tar.zst", bomb(1 << 28))).what
    assert sum(asked) <= 1024


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "cannot be decompressed"),
        (b"PK\x03\x04" * 20, "cannot be decompressed"),
        (b"\x1f\x8b" * 20, "cannot be decompressed"),
        (WIDE.compress(os.urandom(9 << 20)), "memory"),
        (b"", "ends within"),
    ],
)
def test_what_does_not_decompress_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in refusal(with_hash(tmp_path / "b.tar.zst", data)).what


def test_an_archive_that_is_too_large_is_not_read(tmp_path: Path, base: Path) -> None:
    with (tmp_path / "zeros.tar.zst").open("wb") as file:
        file.truncate(10 << 30)
    assert "at most" in refusal(tmp_path / "zeros.tar.zst").remedy
    pack(base, tmp_path / "b.tar.zst")
    assert "at most 100" in refusal(tmp_path / "b.tar.zst", limits=Limits(total=100)).remedy


def test_hostile_files_are_refused_in_an_archive_too(base: Path, tmp_path: Path) -> None:
    made = forged(base, tmp_path / "b", written("config.yaml", "k: !!python/object/apply:os.system [x]\n"))
    pack(resealed(made), tmp_path / "b.tar.zst")
    assert "the tag" in refusal(tmp_path / "b.tar.zst").what
