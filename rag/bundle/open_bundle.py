"""A bundle → a pipeline. Whoever wrote it is a stranger: everything is verified before any library reads it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from rag.bundle.archive import read_archive
from rag.bundle.consistency import corpus_of, documents_of, index_of
from rag.bundle.errors import BundleError, refused
from rag.bundle.files import Contents, read_folder
from rag.bundle.layout import CHUNKS, CONFIG, DOCUMENTS, GOLDEN, LIMITS, PROMPT, Limits
from rag.bundle.manifest import Manifest
from rag.bundle.strict_parse import json_of, lines_of, yaml_of
from rag.bundle.trust import check_config, check_roles
from rag.bundle.weights import check_fingerprints, check_weights, placed
from rag.config.build import Components
from rag.config.compose import plugins
from rag.core.corpus import Corpus
from rag.core.errors import MissingExtraError, UserError
from rag.execution.graph.open_pipeline import TrialParts, open_pipeline
from rag.execution.store.entry_format import Entry
from rag.pipeline.pipeline import Pipeline

NONE: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True)
class Bundle:
    """An opened bundle. `digest` is the hash by which it is known, 64 hexadecimal digits.

    `files` are what else it holds, as verified: golden questions, scores, cards, config. Models that it
    has inside lie in a folder of our own that goes when this record does.
    """

    path: Path
    digest: str
    manifest: Manifest
    config: Mapping[str, Any]
    pipeline: Pipeline
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    held: "TemporaryDirectory[str] | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What people call it: the trial's name, and the beginning of the hash."""
        return f"{self.manifest.name or 'bundle'}-{self.digest[:12]}"

    def read(self, name: str) -> bytes:
        """The verified bytes of a file such as `golden.jsonl`, empty where the bundle has none."""
        return self.files.get(name, b"")


def open_bundle(
    path: Path,
    models: Mapping[str, Path] = NONE,
    hosts: tuple[str, ...] = (),
    packages: tuple[str, ...] | None = None,
    limits: Limits = LIMITS,
) -> Bundle:
    """Open a bundle: a folder, or a `.tar.zst`; BundleError, saying what was refused, for everything that is not one.

    `models` are folders by role, for models that are not inside; `hosts` are servers that a generator may ask beside those of
    the presets and of this machine, as `host`, `host:port` or `host=VARIABLE`; `packages` are those whose components the config
    may name beside ours, the installed plugins unless told. Nothing of the bundle is run, and models are compared with their
    fingerprints before anything loads them.
    """
    path, where = Path(path), str(path)
    packages = plugins() if packages is None else packages
    found = read(path, limits)
    config = placed(check_config(_config(found, where), f"{where}: config", hosts, packages), found, models, where)
    _check_records(found, where)
    components = Components(packages)
    with _refusing(f"{where}: config"):
        check_roles(config, components, f"{where}: config")
        check_fingerprints(config, components, found.manifest.models, where)
    corpus, indexes = _tables(found, config, where)
    with _refusing(where):
        parts = TrialParts(config, components)
        pipeline = open_pipeline(parts.nodes, parts.values, corpus, indexes, components)
        check_weights(config, components, found.manifest.models, where)
    return Bundle(path, found.digest, found.manifest, config, pipeline, found.files, found.held)


def read(path: Path, limits: Limits = LIMITS) -> Contents:
    """The verified files of a bundle, none of them parsed but the manifest."""
    try:
        if path.is_dir():
            return read_folder(path, limits)
        if path.is_file():
            return read_archive(path, limits)
    except OSError as error:
        raise refused(str(path), f"cannot be read: {error}", "check the disk, and who may read it") from error
    there = "is no folder and no file" if path.exists() else "is not there"
    raise refused(str(path), there, "name a bundle: a folder, or a .tar.zst")


def _config(found: Contents, where: str) -> Any:
    config = yaml_of(found.files[CONFIG], f"{where}: {CONFIG}")
    if PROMPT not in found.files or not isinstance(config, dict):
        return config
    if "prompt" in config:
        raise refused(f"{where}: {CONFIG}: prompt", f"stands in {PROMPT} too")
    return config | {"prompt": yaml_of(found.files[PROMPT], f"{where}: {PROMPT}")}


def _check_records(found: Contents, where: str) -> None:
    """Raise BundleError for golden questions, scores and cards that are no JSON: who reads them later need not fear them."""
    for name, data in found.files.items():
        if name == GOLDEN:
            for _ in lines_of(data, f"{where}: {name}"):
                pass
        elif name.endswith(".json"):
            json_of(data, f"{where}: {name}")


def _tables(found: Contents, config: Mapping[str, Any], where: str) -> tuple[Corpus, dict[str, Entry]]:
    documents = documents_of(found.files.pop(DOCUMENTS), where)
    corpus = corpus_of(documents, found.files.pop(CHUNKS), found.manifest.corpus, where)
    listed = {name for name in found.files if name.startswith("indexes/")}
    names = {f"indexes/{name}.entry": name for name in config["index"]}
    if odd := sorted(listed ^ set(names)):
        raise refused(f"{where}: {odd[0]}", "is the index of nothing in the config" if odd[0] in listed else "is missing")
    entries = {names[file]: Entry(index_of(found.files.pop(file), len(corpus), f"{where}: {file}")) for file in sorted(names)}
    return corpus, entries


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    """What components say of a config, and where they stumble over it, as a refusal of the bundle."""
    try:
        yield
    except (BundleError, MissingExtraError):
        raise
    except UserError as error:
        raise refused(f"{where}: {error.where}", error.what, error.remedy) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise refused(where, f"cannot be opened: {type(error).__name__}: {error}") from error
