"""What a bundle says of itself: every file with its sha256, what it was made of, and how well it did."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST, SEAL = "manifest.json", "manifest.sha256"


@dataclass(frozen=True)
class Listed:
    """A file of a bundle."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Model:
    """A model behind a role: where it comes from, and the fingerprint of its weights; `inside` is its folder in the bundle."""

    role: str
    name: str
    fingerprint: str
    revision: str | None = None
    inside: str | None = None


@dataclass(frozen=True)
class Manifest:
    """`metrics` are by column: mean, low and high (95 %), n; `identities` of components by their place in the config."""

    experiment: str
    trial: str
    name: str
    golden: str
    corpus: str
    split: str
    metrics: Mapping[str, Mapping[str, float | None]]
    identities: Mapping[str, str]
    models: tuple[Model, ...]
    versions: Mapping[str, str]
    files: Mapping[str, Listed] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The manifest as it is written: JSON, keys sorted."""
        return (json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Manifest":
        """From what `to_bytes` wrote."""
        rest = {name: value for name, value in content.items() if name not in ("format", "files", "models")}
        files = {name: Listed(**listed) for name, listed in content["files"].items()}
        return cls(**rest, files=files, models=tuple(Model(**model) for model in content["models"]))


def digest_of(folder: Path) -> str:
    """The hash by which a bundle is known: sha256 of its manifest, which holds those of all its files."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
