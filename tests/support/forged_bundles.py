"""Bundles as strangers make them: a sealed one, changed, and sealed again by somebody who knows how."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

from rag.bundle.archive import FRAME
from rag.bundle.errors import BundleError
from rag.bundle.open_bundle import open_bundle
from rag.bundle.seal import NoAliasDumper, seal
from rag.execution.store.entry_format import Entry, decode, encode
from rag.execution.sweep.open_config import config_of

Change = Callable[[Path], object]

DANGEROUS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.",
    "ctypes.dlopen",
)
"""Events by which Python announces that code is about to run elsewhere, or that something leaves this process."""

_heard: list[str] | None = None


def _listen(event: str, _arguments: object) -> None:
    if _heard is not None and event.startswith(DANGEROUS):
        _heard.append(event)


sys.addaudithook(_listen)


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Fail if a program is started, a pickle is read or a socket is touched meanwhile."""
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
    """List every file as it is now, change the manifest, and seal it."""
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
    """Put these bytes in as the manifest, with the seal that belongs to them."""
    (folder / "manifest.json").write_bytes(data)
    (folder / "manifest.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  manifest.json\n", "utf-8")
    return folder


def forged(base: Path, target: Path, change: Change, seal_again: bool = True) -> Path:
    """A copy of a bundle, changed, and sealed again unless the change is to be noticed."""
    shutil.copytree(base, target)
    change(target)
    return resealed(target) if seal_again else target


def config(edit: Callable[[dict[str, Any]], object]) -> Change:
    """Change the config, prompt included."""

    def change(folder: Path) -> None:
        paths = {name: folder / f"{name}.yaml" for name in ("config", "prompt")}
        known = yaml.safe_load(paths["config"].read_text("utf-8"))
        known["prompt"] = yaml.safe_load(paths["prompt"].read_text("utf-8"))
        edit(known)
        if "prompt" in known:
            paths["prompt"].write_text(yaml.dump(known.pop("prompt"), Dumper=NoAliasDumper), "utf-8")
        paths["config"].write_text(yaml.dump(known, Dumper=NoAliasDumper), "utf-8")

    return change


def node(place: str, **values: Any) -> Change:
    """Set values of the component at a place, in front of which stands its new `_target_` where `target` is given."""

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
    """Write on at the end of a file."""

    def change(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes() + text.encode())

    return change


def entry(name: str, **arrays: Any) -> Change:
    """Put other arrays into an entry."""

    def change(folder: Path) -> None:
        known = decode((folder / name).read_bytes()).arrays
        changed = {key: value(known[key].copy()) if callable(value) else value for key, value in arrays.items()}
        (folder / name).write_bytes(encode(Entry({**known, **changed})))

    return change


def raw_entry(name: str, npz: bytes) -> Change:
    """Put other bytes where the arrays of an entry belong, under the right checksums."""
    sums = (hashlib.sha256(npz).hexdigest().encode(), hashlib.sha256(b"{}").hexdigest().encode())
    return written(name, b"assay 1 %s %s 2\n{}" % sums + npz)


def archived(path: Path, tar: bytes) -> Path:
    """A tar as a sealed archive."""
    data = zstandard.ZstdCompressor(1).compress(tar)
    path.write_bytes(data + FRAME + hashlib.sha256(data).digest())
    return path


def refusal(path: Path, **given: Any) -> BundleError:
    """What is said when a bundle is opened that must not be; nothing of it may run."""
    with nothing_runs(), pytest.raises(BundleError) as caught:
        open_bundle(path, **given)
    assert str(path) in caught.value.where
    assert caught.value.remedy
    assert (caught.value.where + caught.value.what).isprintable()
    return caught.value


Cases = Mapping[str, tuple[Change, str]]
"""By what is wrong: what is changed, and words of the refusal."""
