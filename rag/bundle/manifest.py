"""What a bundle says of itself: every file with its sha256, what it was made of, and how well it did."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from rag.bundle.consistency import is_seen
from rag.bundle.errors import refused
from rag.bundle.layout import LIMITS
from rag.bundle.layout import MANIFEST as MANIFEST
from rag.bundle.layout import SEAL as SEAL
from rag.bundle.strict_parse import json_of
from rag.config.parameters import called, fits

FORMAT = 1
SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
PARTS = ("files", "models")
MODELS = 100
"""The most models that a config can name."""
TEXTS = ("experiment", "trial", "name", "golden", "corpus", "split")
LONGEST = 10_000
"""Characters of what a bundle says of itself in words; the name of a trial lists its choices."""
Part = TypeVar("Part")


@dataclass(frozen=True)
class Listed:
    """A file of a bundle."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Model:
    """A model behind a role: where it comes from, and the fingerprint of its weights; `inside` is its folder in the bundle.

    `role` is the place of the component in the config, for example `reranker` or `judge.encoder`. `weights` are the
    sha256 of the weights of a model on the hub, by file, as they lay in its cache when the bundle was sealed.
    """

    role: str
    name: str
    fingerprint: str
    revision: str | None = None
    inside: str | None = None
    weights: Mapping[str, str] = field(default_factory=dict)


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
    def from_json(cls, content: Any, where: str = MANIFEST) -> "Manifest":
        """From what `to_bytes` wrote; BundleError for anything else."""
        if not isinstance(content, dict) or content.get("format") != FORMAT or isinstance(content["format"], bool):
            found = content.get("format") if isinstance(content, dict) else content
            raise refused(
                f"{where}: format", f"is {found!r}, and this version reads {FORMAT}", "install the version that wrote it"
            )
        files, models = content.get("files"), content.get("models")
        if not isinstance(files, dict) or not isinstance(models, list):
            raise refused(where, "does not list files and models")
        if len(files) > LIMITS.files or len(models) > MODELS:
            what = f"lists {len(files):,} files and {len(models):,} models"
            raise refused(where, what, f"a bundle has at most {LIMITS.files:,} and {MODELS}")
        listed = {name: _listed(Listed, one, f"{where}: files: {name}") for name, one in files.items()}
        for name, one in listed.items():
            if not SHA256.fullmatch(one.sha256) or one.size < 0:
                raise refused(f"{where}: files: {name}", "has no sha256 or no size")
        known = tuple(_listed(Model, one, f"{where}: models") for one in models)
        rest = {name: value for name, value in content.items() if name not in ("format", *PARTS)}
        found = _listed(cls, rest, where, {"files": listed, "models": known})
        _check_texts(found, where)
        return found


def _check_texts(found: Manifest, where: str) -> None:
    """Raise BundleError for what no name is: it is shown, sent, and looked for in MLflow and in the folder of experiments."""
    for name in TEXTS:
        text = getattr(found, name)
        if len(text) > LONGEST or not is_seen(text):
            raise refused(f"{where}: {name}", f"is {text!r}", f"at most {LONGEST:,} printable characters")
    if set(found.experiment) & set("/\\") or found.experiment.startswith("."):
        raise refused(f"{where}: experiment", f"is {found.experiment!r}, which leads elsewhere", "the name of an experiment")


def _listed(kind: type[Part], given: Any, where: str, built: Mapping[str, Any] | None = None) -> Part:
    """A record of what JSON holds: the names of its fields, in their types, and no other."""
    built = built or {}
    if not isinstance(given, dict):
        raise refused(where, "is no mapping")
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind) if one.name not in built}  # type: ignore[arg-type]
    needed = {name for name, one in known.items() if one.default is MISSING and one.default_factory is MISSING}
    if odd := sorted((set(given) - set(known)) | (needed - set(given))):
        raise refused(f"{where}: {odd[0]}", "is not known" if odd[0] in given else "is missing")
    for name, value in given.items():
        if not fits(value, hints[name]):
            raise refused(f"{where}: {name}", f"is {value!r}", f"{called(hints[name])} is needed")
    return kind(**given, **built)


def check_seal(manifest: bytes, seal: bytes, where: str) -> None:
    """Raise BundleError unless a seal holds the sha256 of a manifest's bytes."""
    known = hashlib.sha256(manifest).hexdigest()
    if seal != seal_of(known):
        raise refused(f"{where}: {SEAL}", f"does not fit {MANIFEST}, whose sha256 is {known}")


def seal_of(digest: str) -> bytes:
    """What stands in the seal: a line that `sha256sum --check` understands."""
    return f"{digest}  {MANIFEST}\n".encode()


def read_manifest(manifest: bytes, seal: bytes, where: str) -> Manifest:
    """What a manifest says, if its seal fits; BundleError if not, before anything of it is read."""
    check_seal(manifest, seal, where)
    return Manifest.from_json(json_of(manifest, f"{where}: {MANIFEST}"), f"{where}: {MANIFEST}")


def digest_of(folder: Path) -> str:
    """The hash by which a bundle is known: sha256 of its manifest, which holds those of all its files."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
