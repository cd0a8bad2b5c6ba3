"""A folder becomes a corpus: every file parsed, or with a dry run only those that need no parsing."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rag.analysis.ingestion import near_duplicates
from rag.analysis.ingestion.coverage import Coverage, TextFigures, coverage
from rag.components.loaders.folder import FolderLoader, Selection
from rag.config.build import TARGET, Components
from rag.config.catalog import plugins
from rag.config.identity import code_identity, digest
from rag.core.errors import ConfigError, DataError
from rag.core.records import Document
from rag.core.source_files import SourceFile
from rag.documents.files import read_bytes
from rag.documents.manifest import ManifestLine
from rag.documents.reading import LISTENER, Listener, ParseStore
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import stored
from rag.execution.store.cached_vectors import ItemStore, item_id
from rag.execution.store.store import Entry, Store

WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """A line of the manifest, with the chunks of its document and the estimated seconds of work; None if not known."""

    line: ManifestLine
    chunks: int | None = None
    seconds_to_parse: float | None = None
    seconds_to_embed: float | None = None

    def to_json(self) -> dict[str, Any]:
        """All columns as JSON values."""
        mine = {name: getattr(self, name) for name in ("chunks", "seconds_to_parse", "seconds_to_embed")}
        return {**asdict(self.line), **mine}


@dataclass(frozen=True)
class Ingestion:
    """The result of `rag ingest`: `files` by path, and the coverage. `rules` are those of the config, `folder` is its path."""

    folder: str
    purpose: str
    rules: Sequence[Mapping[str, Any]]
    files: tuple[IngestedFile, ...]
    coverage: Coverage
    is_dry: bool

    def to_json(self) -> dict[str, Any]:
        """The output of `rag ingest --json`."""
        head = {"folder": self.folder, "purpose": self.purpose, "dry_run": self.is_dry}
        return {**head, "coverage": self.coverage.to_json(), "manifest": [file.to_json() for file in self.files]}


def ingest(config: Mapping[str, Any], dry_run: bool = False, listen: Listener | None = None) -> Ingestion:
    """Parse the folder of a config into its store; with `dry_run` parse nothing that is not in the store.

    `listen` is called after each file with its number and the number of all files. ConfigError for a loader without a folder of
    files; a folder without a readable file has a manifest, too.
    """
    store = maintenance.at(config["store"])
    components = Components(plugins(), partial(stored, store, Ledger(store, Terms())))
    loader = components.role("loader", config["loader"])
    if not isinstance(loader, FolderLoader):
        raise ConfigError(
            "loader", f"{type(loader).__name__} reads no folder of files", "set loader=folder loader.path=<folder>"
        )
    found = loader.selected()
    waiting = _unparsed(loader, found) if dry_run else {}
    token = LISTENER.set(listen)
    try:
        read = list(loader.ingest(Selection({n: f for n, f in found.to_read.items() if n not in waiting}, found.decided)))
    finally:
        LISTENER.reset(token)
    documents = {document.doc_id: document for _, document in read if document}
    lines = [line for line, _ in read] + [_waiting_line(loader, file) for file in waiting.values()]
    _record_rates(store, lines)
    estimate = _Estimates(store, components, config, documents)
    texts = _figures(store, documents)
    return Ingestion(
        str(loader.path),
        loader.rules.purpose,
        config["loader"]["ingest"].get("rules") or (),
        tuple(estimate.of(line) for line in sorted(lines, key=lambda line: line.path)),
        coverage(lines, texts, loader.rules.keys),
        dry_run,
    )


def _unparsed(loader: FolderLoader, found: Selection) -> dict[str, SourceFile]:
    """The files that a process would have to parse; text that is only decoded is not among them."""
    waiting = {}
    for name, file in found.to_read.items():
        parser = loader.parsers[file.suffix]
        try:
            sha256 = hashlib.sha256(read_bytes(file.path)).hexdigest()
        except DataError:
            continue  # reading it makes the line of the manifest
        if not parser.in_process and not (isinstance(parser, ParseStore) and parser.has(sha256, file.suffix, loader.redactor)):
            waiting[name] = file
    return waiting


def _waiting_line(loader: FolderLoader, file: SourceFile) -> ManifestLine:
    parser = loader.parsers[file.suffix]
    label = type(parser.parser if isinstance(parser, ParseStore) else parser).__name__
    decision = loader.rules.decide(file)
    line = ManifestLine.of(file, decision) if decision else ManifestLine.of(file)
    return replace(line, decision="unparsed", parser=label, reason=line.reason if decision else "rules about its text are open")


def _figures(store: Store, documents: Mapping[str, Document]) -> dict[str, TextFigures]:
    """Figures of texts; signatures are stored by text."""
    texts = [document.text for document in documents.values()]
    ids = [item_id(text) for text in texts]
    items = ItemStore(store, f"signatures/{digest(code_identity(near_duplicates.__name__))}")
    rows = items.resolve(ids, lambda numbers: np.stack([near_duplicates.signature(texts[number]) for number in numbers]))
    return {
        path: TextFigures(name.hex(), WORD.search(document.text) is not None, row)
        for (path, document), name, row in zip(documents.items(), ids, rows, strict=True)
    }


def _rate(kind: str) -> str:
    return f"rates/{digest(kind)}"


def _record_rates(store: Store, lines: Sequence[ManifestLine]) -> None:
    """Store the seconds per byte of each parser that ran."""
    work: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for line in lines:
        if line.seconds and not line.is_stored and line.parser:
            work[line.parser][0] += line.seconds
            work[line.parser][1] += line.size
    for parser, (seconds, size) in work.items():
        if size:
            store.write(_rate(f"parse {parser}"), Entry(meta={"seconds": seconds / size}))


class _Estimates:
    """Chunks of documents, and seconds by recorded rates."""

    def __init__(
        self, store: Store, components: Components, config: Mapping[str, Any], documents: Mapping[str, Document]
    ) -> None:
        self.store, self.documents = store, documents
        self.chunker = components.role("chunker", config["chunker"])
        self.embed = self._seconds(f"embed {str(config['embedder'].get(TARGET)).rpartition('.')[2]}")
        self.parse: dict[str, float | None] = {}

    def of(self, line: ManifestLine) -> IngestedFile:
        document = self.documents.get(line.path)
        if line.decision == "unparsed":
            return IngestedFile(line, seconds_to_parse=self._to_parse(line))
        if document is None:
            return IngestedFile(line)
        seconds = None if self.embed is None else round(self.embed * line.characters, 3)
        return IngestedFile(line, len(self.chunker.chunk(document)), 0.0, seconds)

    def _to_parse(self, line: ManifestLine) -> float | None:
        if line.parser not in self.parse:
            self.parse[line.parser] = self._seconds(f"parse {line.parser}")
        rate = self.parse[line.parser]
        return None if rate is None else round(rate * line.size, 3)

    def _seconds(self, kind: str) -> float | None:
        """The recorded seconds per character or byte; the names of kinds are the labels of stages."""
        return (self.store.read_meta(_rate(kind)) or {}).get("seconds")
