"""A bundle → a pipeline. Its author is not trusted: everything is verified before any library reads it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from rag.bundle.archive import read_archive
from rag.bundle.arrays import arrays_of
from rag.bundle.consistency import corpus_of, documents_of, index_of
from rag.bundle.errors import BundleError, refused
from rag.bundle.files import Contents, read_folder
from rag.bundle.layout import CHUNKS, CONFIG, DOCUMENTS, GOLDEN, RECORDS
from rag.bundle.manifest import Manifest
from rag.bundle.strict_parse import json_of, lines_of
from rag.bundle.trust import check_config, check_roles
from rag.bundle.weights import check_fingerprints, check_weights, with_folders
from rag.config.build import Components
from rag.config.catalog import plugins
from rag.config.stand_ins import STAND_INS
from rag.core.corpus import Corpus
from rag.core.errors import MissingExtraError, UserError
from rag.core.records.sets import NO_RECORDS, RecordSet
from rag.execution.graph.open_pipeline import TrialParts, encoded, open_pipeline
from rag.execution.store.entry_format import Entry
from rag.pipeline.pipeline import Pipeline

NONE: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True)
class Bundle:
    """An opened bundle; `digest` is its hash, 64 hexadecimal digits.

    `files` are its verified files that no pipeline needs: golden questions, scores, cards, config. Models of the bundle lie in
    a private folder, which is removed with this record.
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
        """The name of the trial, and the beginning of the hash."""
        return f"{self.manifest.name or 'bundle'}-{self.digest[:12]}"

    @property
    def stand_ins(self) -> list[str]:
        """A sentence for each choice that stands in for a part of its preset."""
        return list(self.config[STAND_INS])

    def read(self, name: str) -> bytes:
        """The verified bytes of a file such as `golden.jsonl`; empty if the bundle does not have it."""
        return self.files.get(name, b"")


def open_bundle(
    path: Path, models: Mapping[str, Path] = NONE, hosts: tuple[str, ...] = (), packages: tuple[str, ...] | None = None
) -> Bundle:
    """Open a bundle, a folder or a `.tar.zst`; BundleError, naming what was refused, for anything else.

    `models` are folders by role, for models that are not inside. `hosts` are servers that a generator may ask, in addition to
    those of the presets and of this machine: `host`, `host:port` or `host=VARIABLE`. `packages` are those whose components the
    config may name in addition to ours; the installed plug-ins by default. No code of the bundle is run, and models are
    compared with their fingerprints before they are loaded.
    """
    path, where = Path(path), str(path)
    packages = plugins() if packages is None else packages
    contents = read(path)
    config = check_config(json_of(contents.files[CONFIG], f"{where}: {CONFIG}"), f"{where}: config", hosts, packages)
    config = with_folders(config, contents, models, where)
    _check_json(contents, where)
    components = Components(packages, checked=True)
    with _refusing(f"{where}: config"):
        check_roles(config, components, f"{where}: config")
        check_fingerprints(config, components, contents.manifest.models, where)
    corpus, indexes = _tables(contents, config, where)
    records = _records(contents, corpus, where)
    with _refusing(where):
        parts = TrialParts(config, components)
        entries = indexes | _passages(contents, parts, indexes, where)
        pipeline = open_pipeline(parts.nodes, parts.values, corpus, entries, components, records)
        check_weights(config, components, contents.manifest.models, where)
    return Bundle(path, contents.digest, contents.manifest, config, pipeline, contents.files, contents.held)


def read(path: Path) -> Contents:
    """The verified files of a bundle; only the manifest is parsed."""
    try:
        if path.is_dir():
            return read_folder(path)
        if path.is_file():
            return read_archive(path)
    except OSError as error:
        raise refused(str(path), f"cannot be read: {error}", "check the disk and the permissions") from error
    what = "is neither a folder nor a file" if path.exists() else "is not there"
    raise refused(str(path), what, "name a bundle: a folder, or a .tar.zst")


def _check_json(contents: Contents, where: str) -> None:
    """Raise BundleError for golden questions, scores and cards that are not valid JSON."""
    for name, data in contents.files.items():
        if name == GOLDEN:
            for _ in lines_of(data, f"{where}: {name}"):
                pass
        elif name.endswith(".json"):
            json_of(data, f"{where}: {name}")


def _records(contents: Contents, corpus: Corpus, where: str) -> RecordSet:
    """The records of a bundle; BundleError for other values and for places that its documents do not have."""
    if RECORDS not in contents.files:
        return NO_RECORDS
    with _refusing(f"{where}: {RECORDS}"):
        records = RecordSet.from_json(json_of(contents.files.pop(RECORDS), f"{where}: {RECORDS}"))
    sizes = {document.doc_id: len(document.text) for document in corpus.documents}
    for record in (record for table in records.tables for record in table.records):
        if not 0 <= record.start <= record.end <= sizes.get(record.doc_id, -1):
            raise refused(f"{where}: {RECORDS}", f"places {record.record_id!r} outside of the documents")
    return records


def _tables(contents: Contents, config: Mapping[str, Any], where: str) -> tuple[Corpus, dict[str, Entry]]:
    files = contents.files
    documents = documents_of(files.pop(DOCUMENTS), where)
    corpus = corpus_of(documents, files.pop(CHUNKS), contents.manifest.corpus, where)
    listed = {name for name in files if name.startswith("indexes/")}
    names = {f"indexes/{name}.safetensors": name for name in config["index"]}
    if odd := sorted(listed ^ set(names)):
        what = "is the index of nothing in the config" if odd[0] in listed else "is missing"
        raise refused(f"{where}: {odd[0]}", what)
    return corpus, {names[file]: Entry(index_of(files.pop(file), len(corpus), f"{where}: {file}")) for file in sorted(names)}


def _passages(contents: Contents, parts: TrialParts, indexes: Mapping[str, Entry], where: str) -> dict[str, Entry]:
    """The encoded passages of a bundle; a component without them encodes passages itself."""
    dense = (indexes[name] for name, index in parts.indexes.items() if index.uses_vectors)
    vectors, found = next((entry for entry in dense if "vectors" in entry.arrays), None), dict[str, Entry]()
    for name, (what, _) in parts.compared().items():
        if what == "vectors" and vectors:
            found[encoded(name)] = vectors
        elif what == "tokens" and (data := contents.files.pop(file := f"{encoded(name)}.safetensors", b"")):
            found[encoded(name)] = Entry(arrays_of(data, f"{where}: {file}"))
    for name in contents.files:
        if name.startswith("passages/"):
            raise refused(f"{where}: {name}", "holds passages that nothing in the config compares")
    return found


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    """Raise errors of components, about their config or in their code, as BundleError."""
    try:
        yield
    except (BundleError, MissingExtraError):
        raise
    except UserError as error:
        raise refused(f"{where}: {error.where}", error.what, error.remedy) from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise refused(where, f"cannot be opened: {type(error).__name__}: {error}") from error
