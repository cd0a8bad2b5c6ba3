"""The manifest of a bundle: its files with their sha256, what it was made from, and its scores."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from rag.bundle.errors import misfit, refused
from rag.bundle.layout import MANIFEST, MOST_FILES, SEAL, check_names
from rag.bundle.strict_parse import is_visible, json_of

FORMAT = 3
NO_OTHER_KEYS = ConfigDict(extra="forbid")
MODELS = 100
"""Most models of a bundle."""
TEXTS = ("experiment", "trial", "name", "golden", "corpus", "split")
LONGEST = 10_000
"""Most characters of a text in a manifest; the name of a trial lists its choices."""


@dataclass(frozen=True)
class Listed:
    """A file of a bundle: sha256 in hexadecimal, and size in bytes."""

    __pydantic_config__: ClassVar = NO_OTHER_KEYS
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0, strict=True)]


@dataclass(frozen=True)
class Model:
    """A model of a component, known by the fingerprint of its weights; `inside` is its folder in the bundle, if it has one.

    `role` is the place of the component in the config, for example `reranker` or `judge.encoder`. `weights` are the
    sha256 of the weights of a model on the hub, by file, as they lay in its cache when the bundle was sealed.
    """

    __pydantic_config__: ClassVar = NO_OTHER_KEYS
    role: str
    name: str
    fingerprint: str
    revision: str | None = None
    inside: str | None = None
    weights: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What a bundle says about itself.

    `metrics` are by column: mean, low and high (95 %), n. `identities` are those of components by their place in the config.
    `stand_ins` says what stands in for missing parts of the preset.
    """

    __pydantic_config__: ClassVar = NO_OTHER_KEYS
    experiment: str
    trial: str
    name: str
    golden: str
    corpus: str
    split: str
    metrics: Mapping[str, Mapping[str, Annotated[float, Field(strict=True)] | None]]
    identities: Mapping[str, str]
    models: Annotated[tuple[Model, ...], Field(max_length=MODELS)]
    versions: Mapping[str, str]
    stand_ins: Annotated[tuple[str, ...], Field(max_length=MODELS)] = ()
    files: Annotated[Mapping[str, Listed], Field(max_length=MOST_FILES)] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The manifest as its file holds it: JSON, keys sorted."""
        return (json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


SCHEMA = TypeAdapter(Manifest)


def _check_texts(manifest: Manifest, where: str) -> None:
    """Raise BundleError for texts that cannot be names: they are shown, sent to MLflow, and looked up among experiments."""
    for name, text in (
        *((name, getattr(manifest, name)) for name in TEXTS),
        *(("stand_ins", each) for each in manifest.stand_ins),
    ):
        if len(text) > LONGEST or not is_visible(text):
            raise refused(f"{where}: {name}", f"is {text!r}", f"at most {LONGEST:,} printable characters")
    if set(manifest.experiment) & set("/\\") or manifest.experiment.startswith("."):
        raise refused(f"{where}: experiment", f"is {manifest.experiment!r}, a path", "the name of an experiment")


def seal_of(digest: str) -> bytes:
    """The content of the seal: a line that `sha256sum --check` reads."""
    return f"{digest}  {MANIFEST}\n".encode()


def read_manifest(head: Mapping[str, bytes], where: str) -> Manifest:
    """Parse a manifest, from its bytes and those of its seal.

    BundleError for a seal that does not hold its sha256, before anything is parsed, and for a manifest that `to_bytes` did not
    write, or that lists files which a bundle cannot have.
    """
    digest, here = hashlib.sha256(head[MANIFEST]).hexdigest(), f"{where}: {MANIFEST}"
    if head[SEAL] != seal_of(digest):
        raise refused(f"{where}: {SEAL}", f"does not fit {MANIFEST}, whose sha256 is {digest}")
    content = json_of(head[MANIFEST], here)
    version = content.pop("format", None) if isinstance(content, dict) else content
    if version != FORMAT or isinstance(version, bool):
        what = f"is {version!r}, and this version reads {FORMAT}"
        raise refused(f"{here}: format", what, "export the trial again, or install the version that wrote the bundle")
    try:
        manifest = SCHEMA.validate_python(content)
    except ValidationError as error:
        raise misfit(here, error) from error
    _check_texts(manifest, here)
    if inside := {MANIFEST, SEAL} & set(manifest.files):
        raise refused(where, f"lists {min(inside)} itself")
    check_names(here, {name: listed.size for name, listed in manifest.files.items()})
    return manifest


def digest_of(folder: Path) -> str:
    """The hash of a bundle: sha256 of its manifest, which holds the sha256 of all its other files."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
