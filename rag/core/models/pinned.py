"""Model files: pinned to a revision, fingerprinted by their bytes, safetensors only.

They are in a folder, or in a repository on the Hugging Face hub at a pinned revision. Pickled weights are refused: they can run
code when they are loaded.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from rag.core.errors import ConfigError, ServiceError

HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
MOVING = ("main", "master", "HEAD")
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
FETCHED = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja"]


@dataclass(frozen=True)
class PinnedModel:
    """A model folder, or `owner/name` on the hub with the commit (40 hexadecimal digits) or tag to use.

    `where` is the config key that errors name; `cache` is the hub's cache folder, None for its default. A folder has no
    revision: its files are its identity. ConfigError for a folder without safetensors and for a hub id without a revision.
    """

    where: str
    model: str
    revision: str | None = None
    cache: str | None = None

    def __post_init__(self) -> None:
        if self.is_folder:
            _check_weights(self.where, Path(self.model))
        elif not HUB_ID.fullmatch(self.model) or self.model.startswith("."):
            raise ConfigError(f"{self.where}.model", f"there is no folder {self.model!r}", "a model folder or a hub id")
        elif not self.revision or self.revision in MOVING:
            what = f"there is no folder {self.model!r}, and as a hub id it can change, at revision {self.revision!r}"
            raise ConfigError(f"{self.where}.revision", what, "pin it: the 40 digits of a commit, or a tag")

    @property
    def is_folder(self) -> bool:
        """True if `model` is the path of a folder."""
        return bool(self.model) and Path(self.model).is_dir()

    def fingerprint(self) -> str:
        """`name@revision`, or for a folder a sha256 over the names and contents of its files without hidden ones."""
        if not self.is_folder:
            return f"{self.model}@{self.revision}"
        digest = hashlib.sha256()
        for path in _files(Path(self.model)):
            digest.update(f"{path.relative_to(self.model).as_posix()}\0{sha256(path)}\n".encode())
        return f"sha256:{digest.hexdigest()}"

    @cached_property
    def folder(self) -> Path:
        """The folder with the files, fetched from the hub if they are not in its cache; ServiceError if that fails."""
        folder = self.here or self._fetched()
        if not self.is_folder:
            _check_weights(self.where, folder)
        return folder

    @property
    def here(self) -> Path | None:
        """The folder with the files; None if they are not fetched."""
        if self.is_folder:
            return Path(self.model)
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            return self._snapshot(local_files_only=True)
        except LocalEntryNotFoundError:
            return None

    def _fetched(self) -> Path:
        try:
            return self._snapshot(local_files_only=False)
        except Exception as error:  # of httpx or httpx2, by the version of the library of the hub
            reason = f"{self.fingerprint()} cannot be fetched: {str(error).strip().splitlines()[0]}"
            remedy = "check id, revision and network, or give a model folder"
            raise ServiceError(f"{self.where}.model", reason, remedy) from error

    def _snapshot(self, local_files_only: bool) -> Path:
        from huggingface_hub import snapshot_download

        settings: Any = {"revision": self.revision, "cache_dir": self.cache, "allow_patterns": FETCHED}
        return Path(snapshot_download(self.model, local_files_only=local_files_only, **settings))


class PinnedComponent:
    """A component of a `role` with a pinned model: `model`, `revision` and `cache` as those of PinnedModel."""

    role: ClassVar[str]
    model: str
    revision: str | None
    cache: str | None

    @cached_property
    def source(self) -> PinnedModel:
        """The files of the model."""
        return PinnedModel(self.role, self.model, self.revision, self.cache)

    def fingerprint(self) -> str:
        """`name@revision`, or a sha256 over the files of a folder."""
        return self.source.fingerprint()


def _files(folder: Path) -> list[Path]:
    parts = ((path, path.relative_to(folder).parts) for path in folder.rglob("*") if path.is_file())
    return sorted(path for path, names in parts if not any(name.startswith(".") for name in names))


def _check_weights(where: str, folder: Path) -> None:
    files = _files(folder)
    safe = {path.parent for path in files if path.suffix == ".safetensors"}
    pickled = [path for path in files if path.suffix in PICKLED and path.parent not in safe]
    if pickled:
        name = pickled[0].relative_to(folder)
        raise ConfigError(f"{where}.model", f"{folder} has pickled weights only ({name})", "save them as model.safetensors")
    required = {"config.json": folder / "config.json" in files, "*.safetensors": bool(safe)}
    missing = [name for name, exists in required.items() if not exists]
    if missing:
        raise ConfigError(f"{where}.model", f"{folder} has no {' and no '.join(missing)}", "a folder saved by the library")


def sha256(path: Path) -> str:
    """The sha256 of a file, computed once per process while its size and time of change are the same."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def readable(text: str) -> str:
    """The text with lone surrogates replaced by `?`, so that offsets stay the same; tokenizers and HTTP refuse them."""
    return text.encode("utf-8", "replace").decode("utf-8")
