"""Forged bundles: a sealed one, changed, and sealed again with correct checksums."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard
from support.unmeasured_bundles import seal

from rag.bundle.archive import FRAME
from rag.bundle.arrays import array_bytes, arrays_of
from rag.bundle.errors import BundleError
from rag.bundle.open_bundle import open_bundle
from rag.execution.sweep.open_config import config_of

Change = Callable[[Path], object]

DANGEROUS = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class", "socket."),
    "ctypes.dlopen",
)
"""Audit events of programs that are started, pickles that are read, and sockets that are opened."""

_heard: list[str] | None = None


def _listen(event: str, _arguments: object) -> None:
    if _heard is not None and event.startswith(DANGEROUS):
        _heard.append(event)


sys.addaudithook(_listen)


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Fail if a program is started, a pickle is read or a socket is opened in the block."""
    global _heard
    _heard = []
    try:
        yield
        assert _heard == []
    finally:
        _heard = None


def sealed(folder: Path, golden: Path, *overrides: str) -> Path:
    """A bundle of a small golden set, made in the working folder."""
    given = ["dataset=native", f"dataset.path={golden}", "embedder=hashing", "embedder.dimensions=32", *overrides]
    seal(config_of(given), folder)
    return folder


def resealed(folder: Path, edit: Callable[[dict[str, Any]], object] = lambda manifest: None) -> Path:
    """List the files as they are now, edit the manifest, and seal it."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    named = {path.relative_to(folder).as_posix(): path for path in files if not path.name.startswith("manifest.")}
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}
        for name, path in named.items()
    }
    edit(manifest)
    return with_manifest(folder, json.dumps(manifest).encode())


def with_manifest(folder: Path, data: bytes) -> Path:
    """Write the bytes of a manifest with the right seal."""
    (folder / "manifest.json").write_bytes(data)
    (folder / "manifest.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  manifest.json\n", "utf-8")
    return folder


def forged(base: Path, target: Path, change: Change, seal_again: bool = True) -> Path:
    """A changed copy of a bundle, sealed again unless `seal_again` is false."""
    shutil.copytree(base, target)
    change(target)
    return resealed(target) if seal_again else target


def config(edit: Callable[[dict[str, Any]], object]) -> Change:
    """Change the config."""

    def change(folder: Path) -> None:
        known = json.loads((folder / "config.json").read_text("utf-8"))
        edit(known)
        (folder / "config.json").write_text(json.dumps(known), "utf-8")

    return change


def node(place: str, **values: Any) -> Change:
    """Set values of the component at a place; `target` makes it a component of that class with these values alone."""

    def edit(known: dict[str, Any]) -> None:
        found = known
        for part in place.split(".") if place else ():
            found = found[part]
        if "target" in values:
            found.clear()
            found["_target_"] = values["target"]
        found.update({name: value for name, value in values.items() if name != "target"})

    return config(edit)


def written(name: str, data: bytes | str) -> Change:
    """Write a file."""

    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)

    return change


def appended(name: str, text: str) -> Change:
    """Append to a file."""

    def change(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes() + text.encode())

    return change


def tensors(name: str, **arrays: Any) -> Change:
    """Change arrays of a file: to a value, or to what a function makes of the old one."""

    def change(folder: Path) -> None:
        known = arrays_of((folder / name).read_bytes(), name)
        changed = {key: value(known[key].copy()) if callable(value) else value for key, value in arrays.items()}
        (folder / name).write_bytes(array_bytes({**known, **changed}))

    return change


def archived(path: Path, tar: bytes) -> Path:
    """A tar as a sealed archive."""
    return with_hash(path, zstandard.ZstdCompressor(1).compress(tar))


def with_hash(path: Path, data: bytes) -> Path:
    """Data with the right end of an archive."""
    path.write_bytes(data + FRAME + hashlib.sha256(data).digest())
    return path


def refusal(path: Path, **given: Any) -> BundleError:
    """The error of a bundle that must be refused; none of its code may run."""
    with nothing_runs(), pytest.raises(BundleError) as caught:
        open_bundle(path, **given)
    assert str(path) in caught.value.where
    assert caught.value.remedy
    assert (caught.value.where + caught.value.what).isprintable()
    return caught.value


Cases = Mapping[str, tuple[Change, str]]
"""Name of a case → the change, and words of the error."""
