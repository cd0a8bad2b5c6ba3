"""A folder becomes a corpus: every file parsed, or with a dry run only those that need no parsing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rag.analysis.ingestion import near_duplicates
from rag.analysis.ingestion.coverage import Coverage, TextFigures, coverage
from rag.components.loaders.folder import FolderLoader, Selection
from rag.config.build import Components
from rag.config.identity import code_identity, digest
from rag.core.errors import ConfigError
from rag.core.progress import blocks
from rag.core.types import Document
from rag.documents.manifest import ManifestLine
from rag.documents.reading import bare, unparsed
from rag.execution.graph.stage_graph import Stage
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import components_for
from rag.execution.store.cached_vectors import ItemStore, item_id
from rag.execution.store.store import Store
from rag.execution.store.stored_parses import StoredParser

WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Ingestion:
    """The result of `rag data ingest`: `files` by path, and the coverage; `rules` and `folder` are those of the config."""

    folder: str
    purpose: str
    rules: Sequence[Mapping[str, Any]]
    files: tuple[ManifestLine, ...]
    coverage: Coverage
    is_dry: bool

    def to_json(self) -> dict[str, Any]:
        """The output of `rag data ingest --json`."""
        head = {"folder": self.folder, "purpose": self.purpose, "dry_run": self.is_dry}
        return {**head, "coverage": asdict(self.coverage), "manifest": [line.to_json() for line in self.files]}


def ingest(config: Mapping[str, Any], dry_run: bool = False) -> Ingestion:
    """Parse the folder of a config into its store; with `dry_run` parse nothing that is not in the store.

    ConfigError for a loader without a folder of files. A folder without a readable file has a manifest, too.
    """
    store, components = maintenance.at(config["store"]), components_of(config)
    loader = components.role("loader", config["loader"])
    if not isinstance(loader, FolderLoader):
        what = f"{type(loader).__name__} reads no folder of files"
        raise ConfigError("loader", what, "set loader=folder loader.path=<folder>")
    found = loader.selected()
    if dry_run:
        found = _without_unparsed(loader, found)
    read = list(loader.ingest(found))
    documents = {document.doc_id: document for _, document in read if document}
    lines = sorted((line for line, _ in read), key=lambda line: line.path)
    return Ingestion(
        folder=str(loader.path),
        purpose=loader.rules.purpose,
        rules=config["loader"]["ingest"].get("rules") or (),
        files=tuple(_estimated(lines, documents, store, components, config, loader)),
        coverage=coverage(lines, _figures(store, documents), loader.rules.keys),
        is_dry=dry_run,
    )


def components_of(config: Mapping[str, Any]) -> Components:
    """A builder of components whose results are in the store of a config, within its budget."""
    store = maintenance.at(config["store"])
    return components_for(store, Ledger(store, Terms.of(config)))


def _without_unparsed(loader: FolderLoader, found: Selection) -> Selection:
    """A selection in which files that a process would have to parse are lines; text that is only decoded is read."""
    waiting = unparsed(found.paths, loader.parsers, loader.redactor)
    left = Selection({name: file for name, file in found.to_read.items() if name not in waiting}, [*found.decided])
    for name, (parser, _) in waiting.items():
        decision = loader.rules.decide(found.to_read[name])
        line = ManifestLine.of(found.to_read[name], decision)
        reason = line.reason if decision else "a rule about its text decides"
        left.decided.append(replace(line, decision="unparsed", parser=type(bare(parser)).__name__, reason=reason))
    return left


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


def _estimated(
    lines: Sequence[ManifestLine],
    documents: Mapping[str, Document],
    store: Store,
    components: Components,
    config: Mapping[str, Any],
    loader: FolderLoader,
) -> Iterator[ManifestLine]:
    """The lines with chunks of documents, and seconds by recorded rates."""
    chunker = components.role("chunker", config["chunker"])
    stage = Stage("", "embed", {"embedder": config["embedder"]}, {}, {})
    embedding = (store.read_meta(stage.rate_key) or {}).get("seconds")
    rates = {name: each.rate() for name, each in loader.parsers.items() if isinstance(each, StoredParser)}
    for (line,) in blocks(lines, "files chunked"):
        if line.decision == "unparsed":
            rate = rates.get(line.type)
            yield replace(line, seconds_to_parse=None if rate is None else round(rate / loader.processes * line.size, 3))
        elif document := documents.get(line.path):
            seconds = None if embedding is None else round(embedding * line.characters, 3)
            yield replace(line, chunks=len(chunker.chunk(document)), seconds_to_parse=0.0, seconds_to_embed=seconds)
        else:
            yield line
