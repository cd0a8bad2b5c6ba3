"""The sha256 of model files."""

import hashlib
from functools import lru_cache
from pathlib import Path


def sha256(path: Path) -> str:
    """The sha256 of a file, read once per process as long as its size and time of change stay."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
